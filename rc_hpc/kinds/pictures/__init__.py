"""Scenes that questions of the benchmark show, with their pictures: ``scenes.h5`` of a package."""

from __future__ import annotations

from rc_hpc.core.kind import Kind

KIND = Kind(
    name="pictures",
    package=__name__,
    command="benchmark build",
    line="builds a package of the benchmark: scenes, pictures and questions",
    output="benchmark",
    options="options:BuildOptions",
    schema="schema:PICTURES",
    dims="work:dims",
    statics="work:statics",
    oracle="oracle:oracle",
    costs="work:costs",
    facts="work:facts",
    warm="work:warm",
    beside="beside:PackageFolder",
    unit="scenes",
    code=(
        "benchmark/drawing",
        "benchmark/palette",
        "benchmark/records",
        "benchmark/scene_file",
        "benchmark/settings",
        "images/build",
        "images/fast",
        "images/files",
        "images/glyphs",
        "images/scene",
        "images/view",
        "kernels/painting",
        "kinds/pictures/oracle",
    ),
)
