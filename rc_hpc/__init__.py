"""Certified render ceilings of crystal-structure pictures, in batch.

>>> import rc_hpc
>>> c = rc_hpc.ceiling(atoms, cameras="frozen")     # one structure; str(c), c.subsets, c.plot()
>>> many = rc_hpc.ceilings("structures/")           # many, in memory
>>> pictures = rc_hpc.draw(atoms, convention="C1")  # what is shown of it
>>> tree = rc_hpc.open("census.h5")                 # any result file

``python -m rc_hpc`` lists the commands, which work on many cores and write files.
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rc_hpc.api import Ceiling, Ceilings, ceiling, ceilings, draw, open
    from rc_hpc.core.errors import RcError, StructureError, UsageError

__version__ = "1.0.0"
__all__ = [
    "Ceiling",
    "Ceilings",
    "RcError",
    "StructureError",
    "UsageError",
    "__version__",
    "ceiling",
    "ceilings",
    "draw",
    "open",
]

#: Where the public names are; nothing is loaded before one is used.
_PUBLIC = {
    "Ceiling": "rc_hpc.api:Ceiling",
    "Ceilings": "rc_hpc.api:Ceilings",
    "RcError": "rc_hpc.core.errors:RcError",
    "StructureError": "rc_hpc.core.errors:StructureError",
    "UsageError": "rc_hpc.core.errors:UsageError",
    "ceiling": "rc_hpc.api:ceiling",
    "ceilings": "rc_hpc.api:ceilings",
    "draw": "rc_hpc.api:draw",
    "open": "rc_hpc.api:open",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(_PUBLIC[name])


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC} - {"Any", "TYPE_CHECKING", "resolve_name"})
