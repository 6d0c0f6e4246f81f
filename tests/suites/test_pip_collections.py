"""Collections that pip ships.

Every file gives a Structure or a StructureError, never another fault.
"""

from importlib.util import find_spec
from pathlib import Path

import pytest

from rc_hpc.core.errors import Status, StructureError, UsageError
from rc_hpc.structures.sources import iter_items


def folder(package, *parts):
    """A folder inside an installed package, or a skip."""
    spec = find_spec(package)
    for base in (spec.submodule_search_locations or []) if spec else []:
        path = Path(base, *parts)
        if path.is_dir():
            return path
    pytest.skip(f"{package} does not ship {'/'.join(parts)}")


def outcomes(source, format=None):
    """Id to structure or status."""
    results = {}
    for item in iter_items([str(source)], format=format):
        try:
            structure = item.read(item, item.blob())
            assert len(structure.numbers) == len(structure.frac) > 0
            results[item.id] = structure
        except StructureError as error:
            assert item.source in str(error)
            results[item.id] = error.status
    return results


def test_ase_minerals():
    results = outcomes(folder("ase", "test", "testdata", "minerals") / "*.cif")
    assert len(results) == 8
    claimed = {
        id: result.source_space_group
        for id, result in results.items()
        if not isinstance(result, Status)
    }
    assert len(claimed) == 8
    assert all(claimed.values())


def test_pymatgen_structures():
    results = outcomes(folder("pymatgen", "util", "structures") / "*.json")
    assert len(results) == 21
    assert {id: result for id, result in results.items() if isinstance(result, Status)} == {
        "Li10GeP2S12.json": Status.disordered
    }


def test_prototypes():
    results = outcomes("prototypes")
    assert len(results) == 288
    assert not any(isinstance(result, Status) for result in results.values())


def test_seekpath_poscars():
    results = outcomes(folder("seekpath", "hpkot", "band_path_data"))
    poscars = [result for id, result in results.items() if "POSCAR" in id]
    assert len(poscars) >= 60
    assert not any(isinstance(result, Status) for result in poscars)


@pytest.mark.parametrize("package", ["ase", "pymatgen"])
def test_whole_package_as_a_folder(package):
    """Hundreds of foreign files, binaries among them: counted, or, read as asked, each a row."""
    base = folder(package, "io")
    visible = [
        path
        for path in base.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(base).parts)
    ]
    with pytest.raises(UsageError, match=f"{len(visible)} files that are no structures"):
        outcomes(base)
    results = outcomes(base, "cif")
    assert len(results) >= len(visible)
    assert set(results.values()) <= set(Status) and Status.read_error in results.values()
