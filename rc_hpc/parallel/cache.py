"""Where numba keeps compiled kernels, and who compiles them.

Called before numba is imported. The folder is keyed by what the sources of all kernels do: numba
itself misses a change in a function of another file and would run the old kernel. A comment or
a docstring leaves the folder as it is; numba then compiles anew what stands in that one file.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import logging
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from rc_hpc.core.fingerprint import REMEMBERED, tree_digest
from rc_hpc.parallel.launch import launched_tasks, launcher_rank

log = logging.getLogger(__name__)

#: Days after which a cache that was not used is removed.
UNUSED_DAYS = 30
_CACHE_NAME = re.compile(r"numba-[0-9a-f]{16}")
#: Sources of the kernels.
KERNELS = Path(__file__).absolute().parents[1] / "kernels"


def cache_key(package: Path | None = None) -> str:
    """Name of the cache folder: a hash of the kernels' code and of numba's and numpy's versions.

    Kernels import nothing of the package but each other, so their folder is all that counts.
    """
    package = package or KERNELS
    digest = hashlib.sha256()
    for library in ("numba", "llvmlite", "numpy"):
        digest.update(f"{library} {metadata.version(library)}\n".encode())
    for source in sorted(package.rglob("*.py")):
        digest.update(f"{source.relative_to(package)} {tree_digest(source)}\n".encode())
    return f"numba-{digest.hexdigest()[:16]}"


def prepare_numba_cache() -> Path:
    """Point NUMBA_CACHE_DIR to a writable folder for exactly this version of the kernels.

    Base folder: NUMBA_CACHE_DIR where it is set; else, under a launcher or in a SLURM job,
    one in the temporary folder, which is local to the node (several nodes filling one folder
    on NFS damage it); else `$XDG_CACHE_HOME` or `~/.cache`. Where it cannot be written, a
    temporary folder is used and a warning says so. May be called again.

    Returns
    -------
    Path
        The folder.
    """
    asked = os.environ.get("NUMBA_CACHE_DIR")
    base = Path(asked).parent if asked and _CACHE_NAME.fullmatch(Path(asked).name) else _base(asked)
    if REMEMBERED.path is None and base != _user_temp():  # there others may have written
        REMEMBERED.read(base / "digests.json")
    key = cache_key()
    # Its name tells whether an earlier call has set it, perhaps of the parent process.
    folder = Path(asked) if asked and Path(asked).name == key else _base(asked) / key
    why = _unwritable(folder)
    if why:
        wanted, folder = folder, next(f for f in _fallbacks(key) if not _unwritable(f))
        if launcher_rank() == 0:
            log.warning(
                "kernels cannot be cached in %s (%s): using %s. Set NUMBA_CACHE_DIR to a "
                "writable folder to compile only once",
                wanted,
                why,
                folder,
            )
    REMEMBERED.keep()
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    with contextlib.suppress(OSError):  # when it was last used
        os.utime(folder)
    if "numba" in sys.modules:  # it has read the variable; kernels look here when decorated
        sys.modules["numba"].config.CACHE_DIR = str(folder)
    return folder


def _base(asked: str | None) -> Path:
    if asked:
        return Path(asked).expanduser().absolute()
    if launched_tasks() > 1 or "SLURM_JOB_ID" in os.environ:
        return _user_temp()
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(cache):
        return Path(cache) / "rc_hpc"
    try:
        return Path.home() / ".cache" / "rc_hpc"
    except RuntimeError:  # a user without a home
        return _user_temp()


def _user_temp() -> Path:
    return Path(tempfile.gettempdir()) / f"rc_hpc-{os.getuid()}"


def _fallbacks(key: str) -> Iterator[Path]:
    yield _user_temp() / key
    fresh = Path(tempfile.mkdtemp(prefix="rc_hpc-"))
    atexit.register(shutil.rmtree, fresh, ignore_errors=True)
    yield fresh


def _unwritable(folder: Path) -> str:
    """Why `folder` cannot be used; empty if it can. Makes it."""
    try:
        if folder.parent == _user_temp():
            folder.parent.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.parent == _user_temp():
            # A guessable name that all users may take: what lies there is run as code.
            for path in (folder.parent, folder):
                facts = path.lstat()
                if (
                    not stat.S_ISDIR(facts.st_mode)
                    or facts.st_uid != os.getuid()
                    or facts.st_mode & 0o022
                ):
                    return f"{path} can be changed by other users"
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"probe")
    except OSError as error:
        return error.strerror or str(error)
    return ""


def clean_old(folder: Path) -> int:
    """Remove the caches of other versions of the kernels that nobody has used for long.

    Parameters
    ----------
    folder
        The cache in use, beside which they lie.

    Returns
    -------
    int
        How many were removed.
    """
    removed, oldest = 0, time.time() - UNUSED_DAYS * 86_400
    for other in folder.parent.glob("numba-*"):
        if other == folder or not _CACHE_NAME.fullmatch(other.name):
            continue
        with contextlib.suppress(OSError):
            facts = other.lstat()
            own = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid()
            if own and facts.st_mtime < oldest:
                shutil.rmtree(other)
                removed += 1
    return removed
