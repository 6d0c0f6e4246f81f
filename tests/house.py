"""The house as it stands: modules of rc_hpc, and the arrows between them, read from the sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[1] / "rc_hpc"
#: A dotted name for `rc_hpc.core.lazy.resolve`.
LAZY = re.compile(r"[A-Za-z_]\w*(\.\w+)+:[A-Za-z_]\w*")


class Arrow(NamedTuple):
    """One module needs another.

    Attributes
    ----------
    source, target
        Modules of rc_hpc.
    line
        Where.
    how
        ``import``; ``types``, where only a type checker goes; ``lazy``, by `resolve`.
    """

    source: str
    target: str
    line: int
    how: str


@cache
def modules() -> dict[str, Path]:
    """All modules of rc_hpc, by their dotted names."""
    paths = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        paths[name.removesuffix(".__init__")] = path
    return paths


@cache
def tree(module: str) -> ast.Module:
    """Syntax tree of a module."""
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


@cache
def arrows() -> tuple[Arrow, ...]:
    """All arrows between modules of rc_hpc."""
    return tuple(arrow for module in modules() for arrow in _arrows_of(module))


def _arrows_of(module: str) -> Iterator[Arrow]:
    for_types = {
        node
        for test in ast.walk(tree(module))
        if isinstance(test, ast.If) and getattr(test.test, "id", "") == "TYPE_CHECKING"
        for node in ast.walk(test)
    }
    for node, name in imports(tree(module)):
        if name.split(".")[0] == "rc_hpc":
            how = "types" if node in for_types else "import"
            yield Arrow(module, _module_of(name), node.lineno, how)
    for line, name in lazy_names(module):
        if name.startswith("rc_hpc."):
            yield Arrow(module, name.partition(":")[0], line, "lazy")


def imports(within: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """Import statements within a tree, each with a name that it imports."""
    for node in ast.walk(within):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, "imports of rc_hpc are absolute"
            for alias in node.names:
                yield node, f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name


def _module_of(name: str) -> str:
    """The module that an imported name is, or lies in."""
    return name if name in modules() else name.rpartition(".")[0]


def lazy_names(module: str) -> Iterator[tuple[int, str]]:
    """Texts of a module that name an object for `resolve`, each with its line."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Constant) and LAZY.fullmatch(str(node.value)):
            yield node.lineno, str(node.value)


def functions(module: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions of a module, also those within others."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def is_command(module: str) -> bool:
    """Whether ``python -m MODULE`` is a command."""
    above, _, name = module.rpartition(".")
    return name == "__main__" or (
        above == "rc_hpc" and name != "api" and modules()[module].name != "__init__.py"
    )


def room(module: str) -> str:
    """The room that a module lies in: a folder, ``commands``, or ``rc_hpc`` itself."""
    if is_command(module):
        return "commands"
    return module.split(".")[1] if "." in module else "rc_hpc"


def closure(start: Iterable[str], skip: Callable[[str], bool] = lambda module: False) -> set[str]:
    """Modules that are reached from `start` where the program goes, not through those skipped."""
    reached: set[str] = set()
    ahead = list(start)
    while ahead:
        module = ahead.pop()
        if module not in reached and not skip(module):
            reached.add(module)
            ahead += [a.target for a in arrows() if a.source == module and a.how != "types"]
    return reached


def circles(pairs: Iterable[tuple[str, str]]) -> list[set[str]]:
    """Sets of names from each of which every other of the set is reached."""
    after: dict[str, set[str]] = {}
    for source, target in pairs:
        if source != target:
            after.setdefault(source, set()).add(target)
    far = {name: set(targets) for name, targets in after.items()}
    for reached in far.values():
        ahead = list(reached)
        while ahead:
            for further in after.get(ahead.pop(), set()) - reached:
                reached.add(further)
                ahead.append(further)
    rings = {
        frozenset(other for other in reached if name in far.get(other, ()))
        for name, reached in far.items()
        if name in reached
    }
    return [set(ring) for ring in rings]
