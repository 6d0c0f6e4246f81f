"""The house keeps its floors: imports run downwards, commands hold arguments only."""

import ast
import importlib
import importlib.util
import subprocess
import sys

import house
import pytest
from house import Arrow

#: Lower floors first; rooms of one line stand beside each other and do not import one another.
FLOORS = (
    ("core",),
    ("kernels",),
    ("geometry", "structures", "symmetry", "stats"),
    ("oracle", "images", "store", "parallel"),
    ("answers", "report", "reader"),
    ("benchmark",),
    ("kinds",),
    ("engine",),
    ("ladder", "vlm", "training", "assembly"),
    ("api",),
    ("commands",),
)
#: Rooms within `kinds`, in the same way.
KIND_FLOORS = (
    ("common",),
    ("packed",),
    ("noise", "scenes"),
    (
        *("census", "frontier", "occlusion", "design", "unique", "renders"),
        *("determined", "pictures"),
    ),
    ("readings",),
    ("scores",),
    ("registry",),
)
#: Modules in which dotted names for `resolve` stand, beside commands and declarations of kinds;
#: a ``.`` at the end: all of that room.
LAZY_PLACES = (
    "rc_hpc",  # the public names, loaded on first use
    "rc_hpc.api.calls",  # what h5py loads, which starts a process: an import must not
    "rc_hpc.api.results",  # the same
    "rc_hpc.engine.entry",  # between the parser of a run and the run
    "rc_hpc.kinds.common.options",  # cameras: matrices are not loaded to print a help
    "rc_hpc.kinds.design.options",
    "rc_hpc.kinds.readings.options",  # manifests are read when the run begins
    "rc_hpc.kinds.scores.options",  # the same
    "rc_hpc.kinds.determined.options",  # the package is read when the run begins
    "rc_hpc.symmetry.sharp",  # packing is loaded before it is known where compiled kernels lie
    "rc_hpc.training.options",  # names of elements
    "rc_hpc.training.start",  # no torch before it is known that there is work
    "rc_hpc.vlm.query",  # no client before it is known that something is asked
)
#: Packages that may be imported within functions: they are slow to load, or need not be there.
HEAVY = {
    "aiohttp",
    "ase",
    "chemiscope",
    "h5py",
    "inspect_ai",
    "matplotlib",
    "mp_api",
    "mpi4py",
    "numba",
    "pandas",
    "PIL",
    "pyarrow",
    "pymatgen",
    "pysat",
    "safetensors",
    "scipy",
    "sklearn",
    "spglib",
    "tabulate",
    "timm",
    "torch",
    "torchvision",
    "tqdm",
    "xarray",
}
#: What a command may import of rc_hpc: the door, what options are made of, and what begins a run.
FOR_COMMANDS = (
    "rc_hpc.core.door",
    "rc_hpc.core.errors",
    "rc_hpc.core.lazy",
    "rc_hpc.core.options",
    "rc_hpc.engine.entry",
    "rc_hpc.kinds.registry",
)
#: Lines.
LONGEST_FILE, LONGEST_COMMAND = 400, 130


def told(arrows):
    return "\n" + "\n".join(f"{a.source}:{a.line} -> {a.target} ({a.how})" for a in arrows)


def upwards(floors, room_of, arrows):
    """Arrows that do not run downwards from one room to another."""
    height = {room: number for number, rooms in enumerate(floors) for room in rooms}
    return [
        arrow
        for arrow in arrows
        if (a := room_of(arrow.source)) != (b := room_of(arrow.target)) and height[a] <= height[b]
    ]


def test_every_room_has_a_floor():
    rooms = {house.room(module) for module in house.modules()} - {"rc_hpc"}
    assert rooms == {room for rooms in FLOORS for room in rooms}


def test_imports_run_downwards():
    """The package itself holds the version, which everybody may ask for, and names of the API."""
    between = [a for a in house.arrows() if "rc_hpc" not in (a.source, a.target)]
    high = upwards(FLOORS, house.room, between)
    assert not high, told(high)


def test_kinds_know_what_they_share_and_no_other():
    def room(module):
        return module.split(".")[2] if module.count(".") > 1 else ""

    within = [a for a in house.arrows() if room(a.source) and a.source.startswith("rc_hpc.kinds.")]
    within = [a for a in within if room(a.target) and a.target.startswith("rc_hpc.kinds.")]
    high = upwards(KIND_FLOORS, room, within)
    assert not high, told(high)


@pytest.mark.parametrize("name_of", [house.room, str], ids=["rooms", "modules"])
def test_no_circle(name_of):
    pairs = {(name_of(a.source), name_of(a.target)) for a in house.arrows()}
    assert not house.circles(pair for pair in pairs if "rc_hpc" not in pair)


def test_the_package_itself_imports_nothing_of_its_own():
    own = [a for a in house.arrows() if a.source == "rc_hpc" and a.how == "import"]
    assert not own, told(own)
    asked = [
        Arrow(module, name, node.lineno, "import")
        for module in house.modules()
        for node, name in house.imports(house.tree(module))
        if name.startswith("rc_hpc.") and name not in house.modules()
        if name.rpartition(".")[0] == "rc_hpc" and name != "rc_hpc.__version__"
    ]
    assert not asked, told(asked)


def test_only_heavy_packages_are_imported_within_functions():
    within = {
        f"{module}:{node.lineno} {name}"
        for module in house.modules()
        for function in house.functions(module)
        for node, name in house.imports(function)
        if name.split(".")[0] not in HEAVY
    }
    assert not within


def test_dotted_names_lead_somewhere_and_stand_where_they_may():
    for module in house.modules():
        for line, name in house.lazy_names(module):
            where = f"{module}:{line} {name}"
            assert house.room(module) == "commands" or module in LAZY_PLACES, where
            target, _, attribute = name.partition(":")
            if name.startswith("rc_hpc.") or importlib.util.find_spec(target.split(".")[0]):
                assert hasattr(importlib.import_module(target), attribute), where


def test_places_of_dotted_names_are_no_more_than_there_are():
    assert {m for m in LAZY_PLACES if m not in house.modules()} == set()


def test_kernels_know_arrays_only():
    for module in house.modules():
        if house.room(module) == "kernels":
            for node, name in house.imports(house.tree(module)):
                first = name.split(".")[0]
                known = first in ("__future__", "math", "numba", "numpy", "typing")
                own = name.startswith("rc_hpc.kernels.")
                assert known or own, f"{module}:{node.lineno} imports {name}"


COMMANDS = sorted(module for module in house.modules() if house.is_command(module))


@pytest.mark.parametrize("module", COMMANDS)
def test_commands_hold_arguments_only(module):
    """Parsers and options; no data are read, looped over or written, nothing is caught."""
    for arrow in house.arrows():
        if arrow.source == module and arrow.how != "lazy":
            options = arrow.target.rpartition(".")[2].endswith("options")
            declared = arrow.target.startswith("rc_hpc.kinds.") and arrow.target.count(".") == 2
            assert arrow.target in FOR_COMMANDS or options or declared, told([arrow])
    tree = house.tree(module)
    busy = (ast.For, ast.While, ast.With, ast.Try, ast.AsyncFunctionDef)
    assert not [node.lineno for node in ast.walk(tree) if isinstance(node, busy)]
    others = {name.split(".")[0] for _, name in house.imports(tree)} - {"rc_hpc"}
    assert others <= {"__future__", "collections", "dataclasses", "pathlib", "sys", "typing"}
    assert len(house.modules()[module].read_text().splitlines()) <= LONGEST_COMMAND


@pytest.mark.parametrize("module", COMMANDS)
def test_help_loads_nothing_heavy(module):
    program = (
        "import runpy, sys\n"
        f"sys.argv = [{module!r}, '--help']\n"
        "try:\n"
        f"    runpy.run_module({module!r}, run_name='__main__')\n"
        "except SystemExit as end:\n"
        "    assert not end.code\n"
        "print('LOADED', *{name.split('.')[0] for name in sys.modules})\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not told.returncode, told.stderr
    loaded = set(told.stdout.rpartition("LOADED")[2].split())
    assert "rc_hpc" in loaded
    assert not loaded & (HEAVY | {"numpy"})


def test_files_are_short_enough_to_read():
    lengths = {
        module: len(path.read_text(encoding="utf-8").splitlines())
        for module, path in house.modules().items()
    }
    assert {module: n for module, n in lengths.items() if n > LONGEST_FILE} == {}
