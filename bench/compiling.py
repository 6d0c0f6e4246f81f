"""Where the time of compiling the kernels goes: ``python -m bench.compiling [--records DIR]``.

Fills an empty kernel cache, as a first census does, and tells exclusive CPU seconds by step of
Numba and by function. What LLVM optimises is told apart from what Numba does in Python before it.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.common import write_record

LLVM = "LLVM"
CACHE = "kernel cache"
REST = "everything else"


class Watch:
    """Exclusive CPU seconds of (function, step), and how many functions there were."""

    def __init__(self) -> None:
        self.stack: list[tuple[str, str]] = [(REST, REST)]
        self.seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
        self.functions: Counter[str] = Counter()
        self._last = time.process_time()

    def switch(self) -> None:
        """Give the time since the last switch to what ran."""
        now = time.process_time()
        self.seconds[self.stack[-1]] += now - self._last
        self._last = now

    def within(self, what: Callable[..., tuple[str, str]], function: Callable[..., Any]) -> Any:
        """`function`, its time given to what `what` says of its arguments."""

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self.switch()
            self.stack.append(what(*args))
            try:
                return function(*args, **kwargs)
            finally:
                self.switch()
                self.stack.pop()

        return wrapper

    def by(self, which: int) -> list[tuple[str, float]]:
        """Seconds by function (0) or step (1), longest first."""
        found: defaultdict[str, float] = defaultdict(float)
        for key, seconds in self.seconds.items():
            found[key[which]] += seconds
        return sorted(found.items(), key=lambda pair: -pair[1])


def instrument(watch: Watch) -> None:
    """Wrap Numba's passes, LLVM's optimiser and the kernel cache."""
    from numba.core.caching import Cache
    from numba.core.codegen import CPUCodeLibrary
    from numba.core.compiler_machinery import PassManager

    def step(manager: Any, index: int, step_: Any, state: Any) -> tuple[str, str]:
        function = state.func_id.func
        name = f"{function.__module__}.{function.__qualname__}"
        if step_.name() == "nopython_type_inference":
            watch.functions[name] += 1
        return name, step_.name()

    def wrap(owner: Any, name: str, what: Callable[..., tuple[str, str]]) -> None:
        setattr(owner, name, watch.within(what, getattr(owner, name)))

    wrap(PassManager, "_runPass", step)
    for name in ("_optimize_functions", "_optimize_final_module"):
        wrap(CPUCodeLibrary, name, lambda *_: (LLVM, LLVM))
    for name in ("save_overload", "load_overload"):
        wrap(Cache, name, lambda *_: (CACHE, CACHE))


def measure() -> dict[str, Any]:
    """Steps and functions of one compilation."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        from rc_hpc.parallel.cache import prepare_numba_cache

        prepare_numba_cache()
        watch = Watch()
        instrument(watch)
        from rc_hpc.kinds.census.options import CensusOptions
        from rc_hpc.kinds.census.work import warm

        warm(CensusOptions.of())
        watch.switch()
    return {
        "total_cpu_s": sum(watch.seconds.values()),
        "functions": sum(watch.functions.values()),
        "kernels": sum(n for name, n in watch.functions.items() if name.startswith("rc_hpc.")),
        "steps": [{"step": name, "cpu_s": seconds} for name, seconds in watch.by(1)],
        "by_function": [{"function": name, "cpu_s": seconds} for name, seconds in watch.by(0)],
    }


def main(argv: list[str] | None = None) -> int:
    """Measure and write the record."""
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--records", type=Path, help="folder of the record; default: print alone")
    args = p.parse_args(argv)
    asked = {"measurement": "compiling", "load_before": [round(x, 2) for x in os.getloadavg()]}
    found = measure()
    if args.records:
        print(write_record("compiling", asked, found, args.records))
    for row in (*found["steps"][:8], *found["by_function"][:8]):
        print(f"{row['cpu_s']:7.2f}  {row.get('step') or row['function']}")
    print(f"{found['total_cpu_s']:7.2f}  {found['functions']} functions, {found['kernels']} ours")
    return 0


if __name__ == "__main__":
    sys.exit(main())
