"""Keywords of the Python functions: the options of the commands, by their names."""

from __future__ import annotations

import difflib
import inspect
import operator
import os
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from rc_hpc.core.errors import UsageError
from rc_hpc.core.options import Opt, Options, declared, text_of
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.common.options import load

O = TypeVar("O", bound=Options)  # noqa: E741 - the options of a kind
F = TypeVar("F", bound=Callable[..., Any])

#: What a function takes in place of the option `protocol`.
CAMERAS = "cameras"
#: Options that only files have: in memory all structures are crystals.
_OF_MOLECULES = ("molecules", "group_tolerance", "orientation")


def options_of(
    options: type[O], cameras: Any, asked: Mapping[str, Any], without: tuple[str, ...] = ()
) -> O:
    """The options that a call asks for.

    Parameters
    ----------
    cameras
        Name or file of a protocol, or itself; None: the default.
    asked
        Keywords; None stands for the default.
    without
        Options that mean nothing in memory.

    Raises
    ------
    TypeError
        There is no such option.
    UsageError
        A value that cannot be.
    """
    known = _known(options, without)
    asked = {name: value for name, value in asked.items() if value is not None}
    if strange := sorted(asked.keys() - known.keys()):
        close = difflib.get_close_matches(strange[0], [CAMERAS, *known], 1)
        hint = (
            f"did you mean {close[0]!r}?" if close else f"known are {CAMERAS}, {', '.join(known)}"
        )
        raise TypeError(f"there is no option {strange[0]!r}: {hint}")
    values = {name: _value(known[name], value) for name, value in asked.items()}
    if cameras is not None:
        values["protocol"] = os.fspath(cameras) if isinstance(cameras, os.PathLike) else cameras
    if "subsets" in values and not isinstance(values["subsets"], str):
        protocol = load(values.get("protocol", "frozen"), values.get("tiling"))
        values["subsets"] = _subsets(values["subsets"], protocol)
    return options.of(values)


def takes(options: type[Options], without: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Tell in a function's help and signature which options its keywords are."""
    known = _known(options, without)

    def told(function: F) -> F:
        lines = []
        for one in known.values():
            default = f"; default: {one.default}" if one.default else ""
            unit = f", {one.metavar}" if one.metavar in ("Å", "deg") else ""
            lines.append(f"    {one.name}{unit}\n        {one.help}{default}\n")
        function.__doc__ = (function.__doc__ or "").rstrip() + (
            "\n\n    Other Parameters\n    ----------------\n" + "".join(lines)
        )
        signature = inspect.signature(function)
        own = list(signature.parameters.values())[:-1]
        keywords = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=one.asked)
            for name, one in known.items()
        ]
        function.__signature__ = signature.replace(parameters=own + keywords)  # type: ignore[attr-defined]
        return function

    return told


def _known(options: type[Options], without: tuple[str, ...]) -> dict[str, Opt]:
    hidden = ("protocol", *_OF_MOLECULES, *without)
    return {one.name: one for one in declared(options) if one.name not in hidden}


def _value(one: Opt, value: Any) -> Any:
    """A value as the option has it; texts are those of the command."""
    try:
        if one.switch:
            if not isinstance(value, bool):
                raise ValueError("True or False")
            return value
        if one.parse in (int, float) and not isinstance(value, str):
            return operator.index(value) if one.parse is int else float(value)
        if isinstance(value, str):
            return one.parse(value) if one.parse else value
    except (ValueError, TypeError, ArgumentTypeError) as error:
        raise UsageError(f"{one.name}={value!r} is not valid ({error})") from error
    if one.name == "subsets":
        return value
    return text_of(tuple(value)) if isinstance(value, list | tuple) else text_of(value)


def _subsets(asked: Any, protocol: Protocol) -> str:
    """Subsets as the option takes them, from names or numbers of cameras."""

    def name_of(camera: Any) -> str:
        if isinstance(camera, str):
            return camera
        try:
            return protocol.views[operator.index(camera)]
        except (TypeError, IndexError) as error:
            raise UsageError(
                f"subsets: {camera!r} is no camera; {protocol.name} has {', '.join(protocol.views)}"
            ) from error

    try:
        return ",".join(
            one if isinstance(one, str) else "+".join(map(name_of, one)) for one in asked
        )
    except TypeError as error:
        raise UsageError(
            f"subsets={asked!r}: give 'all', 'full', 'a+b,a+c', or a list of tuples of cameras"
        ) from error
