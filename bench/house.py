"""What a tree of rc_hpc counts in: lines, imports within functions, parameters, namespaces passed.

python bench/house.py [TREE ...]      a folder that holds rc_hpc/; by default this one
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
WIDTH = 100


def counts(tree: Path) -> dict[str, object]:
    """Each count by what it is of."""
    paths = sorted((tree / "rc_hpc").rglob("*.py"))
    modules = {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    functions = [(path, node) for path, module in modules.items() for node in _functions(module)]
    path, widest = max(functions, key=lambda one: _parameters(one[1]))
    where = f"{path.relative_to(tree).as_posix()}: {widest.name}"
    return {
        "modules": len(paths),
        "lines of code (statements, without docstrings)": sum(map(_statements, modules.values())),
        "lines": len(lines),
        f"lines over {WIDTH} characters": sum(len(line) > WIDTH for line in lines),
        "largest module, lines": max(
            len(path.read_text(encoding="utf-8").splitlines()) for path in paths
        ),
        "imports of our own within functions": sum(_own_imports(node) for _, node in functions),
        "longest parameter list": f"{_parameters(widest)} ({where})",
        "calls that a parser's namespace passes through": sum(map(_passes, modules.values())),
    }


def _functions(module: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    names = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def _statements(module: ast.Module) -> int:
    """Statements: alike however the lines are broken."""
    found = 0
    for node in ast.walk(module):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        found += isinstance(node, ast.stmt) and not text
    return found


def _own_imports(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    found = 0
    for node in ast.walk(function):
        if isinstance(node, ast.ImportFrom):
            found += (node.module or "").split(".")[0] == "rc_hpc"
        elif isinstance(node, ast.Import):
            found += any(alias.name.split(".")[0] == "rc_hpc" for alias in node.names)
    return found


def _passes(module: ast.Module) -> int:
    """Calls with an argument named `args`."""
    found = 0
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            values = (*node.args, *(keyword.value for keyword in node.keywords))
            found += any(isinstance(value, ast.Name) and value.id == "args" for value in values)
    return found


def main() -> None:
    """Print the counts of the trees side by side."""
    trees = [Path(text) for text in sys.argv[1:]] or [ROOT]
    columns = [counts(tree) for tree in trees]
    for name in columns[0]:
        print(f"{name:<48}" + "  ".join(f"{column[name]!s:>12}" for column in columns))


if __name__ == "__main__":
    main()
