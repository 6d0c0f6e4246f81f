"""The house keeps its floors: imports run downwards, and nothing heavy is loaded to answer --help."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "rc_hpc"
#: Lower floors first; those of one line stand beside each other and do not import one another.
FLOORS = (
    ("constants", "errors", "options", "sweep_options"),
    ("kernels",),
    ("geometry",),
    ("structures",),
    ("symmetry",),
    ("oracle",),
    ("analysis", "images", "models"),
    ("store",),
    ("parallel",),
    ("cli", "report"),
    ("plots",),
    ("drivers",),
)
HEIGHT = {name: height for height, names in enumerate(FLOORS) for name in names}
#: The end of a run prints the command's own summary, and figures are drawn from the frames of the tables.
UPWARDS = {("drivers", "tables")}


def imported(path):
    """Modules or packages of rc_hpc that a file imports anywhere in it, without the prefix."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rc_hpc."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.ImportFrom) and node.module == "rc_hpc":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (
                alias.name.split(".")[1] for alias in node.names if alias.name.startswith("rc_hpc.")
            )


@pytest.mark.parametrize("floor", [name for names in FLOORS for name in names])
def test_imports_run_downwards(floor):
    paths = (
        sorted((PACKAGE / floor).rglob("*.py"))
        if (PACKAGE / floor).is_dir()
        else [PACKAGE / f"{floor}.py"]
    )
    assert paths
    for path in paths:
        for name in imported(path):
            if name == floor or (floor, name) in UPWARDS:
                continue
            if floor in FLOORS[0] and name in FLOORS[0]:  # the ground may stand on itself
                continue
            assert name in HEIGHT, f"{path.relative_to(PACKAGE)} imports the command {name}"
            assert HEIGHT[name] < HEIGHT[floor], f"{path.relative_to(PACKAGE)} imports {name}"


def test_kernels_know_arrays_only():
    for path in (PACKAGE / "kernels").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                name = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
                assert name.split(".")[0] in ("math", "numpy", "numba", "rc_hpc"), (
                    f"{path.name} imports {name}"
                )
