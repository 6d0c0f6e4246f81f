"""Options, each declared once: as a field of a frozen dataclass.

From the declaration come the parser and the keys of ``--config`` (`rc_hpc.core.door`), the record
in the file, the options hash, and the way back from a file: `Options.from_dict`. What a person
asks for (``frozen``, ``all``) may differ from what is recorded (matrices, indices): `settle` makes
the one of the other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any, Self

from rc_hpc.core import constants
from rc_hpc.core.errors import RcError, UsageError

#: Key of a declaration in the metadata of its field.
_KEY = "option"


@dataclass(frozen=True)
class Opt:
    """How one option is asked for.

    Attributes
    ----------
    name
        Long flag, and key in TOML, with ``_`` for ``-``; by default that of its field.
    field
        Field that it fills.
    help
        One line, without the default.
    asked
        What is taken where nothing is asked for.
    parse
        From the text of a flag to its value; None where the text itself is.
    choices
        The only values allowed, or the only items of a tuple.
    metavar, short
        Name of the value in the help, and the one-letter flag.
    told
        The default in words, where `asked` does not tell it.
    many
        May be given several times, or, for a positional, several at once.
    words
        Values that the flag takes at a time; of several, each is parsed, and they are a tuple.
    positional
        Has no flag.
    required
        Must be given.
    kept
        Whether ``--write-config`` writes it: not what is said about earlier work.
    check
        Called with flag and value; raises UsageError.
    recorded
        See `opt`.
    caption
        How captions tell the value: a text with ``{}``, or what makes one of the value.
    before
        What records lack that are older than the option, where that is not its default.
    """

    name: str
    help: str
    asked: Any = None
    parse: Callable[[str], Any] | None = None
    choices: tuple[str, ...] | None = None
    metavar: str | tuple[str, ...] | None = None
    short: str | None = None
    told: str | None = None
    many: bool = False
    words: int = 1
    positional: bool = False
    required: bool = False
    kept: bool = True
    check: Callable[[str, Any], None] | None = None
    recorded: bool = True
    caption: str | Callable[[Any], str] = ""
    before: Any = None
    field: str = ""

    @property
    def flag(self) -> str:
        """Its long flag, or the name of a positional."""
        return self.key if self.positional else f"--{self.key}"

    @property
    def key(self) -> str:
        """Its name in TOML."""
        return self.name.replace("_", "-")

    @property
    def switch(self) -> bool:
        """Whether it is on or off."""
        return isinstance(self.asked, bool)

    @property
    def one_of(self) -> tuple[str, ...] | None:
        """`choices`, where the value is one of them and not several."""
        return None if isinstance(self.asked, tuple) and not self.many else self.choices

    @property
    def default(self) -> str:
        """The default in words; empty where there is nothing to say."""
        if self.told is not None:
            return self.told
        if self.asked is None or self.switch or self.required or self.asked in ("", ()):
            return ""
        return text_of(self.asked)


def text_of(value: Any) -> str:
    """A value as a flag takes it."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple | list):
        return ",".join(map(text_of, value))
    if isinstance(value, dict):
        return json.dumps(value)
    return str(value)


def opt(
    default: Any = MISSING,
    help: str = "",
    *,
    asked: Any = MISSING,
    parse: Callable[[str], Any] | None = None,
    choices: Sequence[str] | None = None,
    recorded: bool = True,
    name: str = "",
    hashed: bool = True,
    **more: Any,
) -> Any:
    """Declare an option as a field of a dataclass that derives from `Options`.

    Parameters
    ----------
    default
        Of the dataclass; left out where a value must be given.
    asked
        Where what a person asks for is not the value itself: its default. See `Options.settle`.
    parse
        By default what the type of the default says: int, float, or the text as it is.
    recorded
        Part of the record in the file and of the hash; what is not is used by `settle`, or says
        how a run goes about its work.
    name
        Long flag where it is not the field's name.
    hashed
        False for a value that Python cannot hash.
    more
        See `Opt`.
    """
    if asked is MISSING:
        asked = None if default is MISSING else default
    if parse is None and type(asked) in (int, float):
        parse = type(asked)
    allowed = None if choices is None else tuple(choices)
    declared = Opt(name, help, asked, parse, allowed, recorded=recorded, **more)
    value = {} if default is MISSING else {"default": default}
    return field(**value, hash=hashed, metadata={_KEY: declared})


def derived(default: Any = MISSING, *, recorded: bool = True) -> Any:
    """A field that nobody asks for: `settle`, or what comes before a run, fills it.

    One that stays None is not recorded.
    """
    value = {} if default is MISSING else {"default": default}
    return field(**value, hash=False, metadata={"recorded": recorded})


@dataclass(frozen=True)
class Options:
    """Base of all groups of options.

    A field is declared with `opt`, filled by the program (`derived`), or another group.
    """

    def __post_init__(self) -> None:
        for declared in own(type(self)):
            value = getattr(self, declared.field)
            if declared.choices and declared.asked is not None:
                for item in value if isinstance(value, tuple) else (value,):
                    known_name(declared.flag, item, declared.choices)
            if declared.check and value is not None:
                declared.check(declared.flag, value)

    @classmethod
    def settle(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Values of the fields from what was asked for; groups within are made already."""
        return values

    @classmethod
    def of(cls, asked: Mapping[str, Any] | None = None, **more: Any) -> Self:
        """The options that `asked` and `more` make, by name; those of groups within stand beside.

        Raises
        ------
        UsageError
            A value that cannot be, or values that contradict each other; names the flag.
        """
        asked = {**(asked or {}), **more}
        values = {}
        for one in fields(cls):
            if group := _group(one):
                values[one.name] = group.of(asked)
            elif declared := _declared(one):
                values[one.name] = asked.get(declared.name, declared.asked)
        return cls(**cls.settle(values))

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """The options that `to_dict` has recorded; what an older record lacks has its default.

        Raises
        ------
        RcError
            The record names options that this class does not have.
        """
        known = {one.name: one for one in fields(cls) if _recorded(one)}
        if strange := sorted(record.keys() - known.keys()):
            raise RcError(
                f"options of another version of rc_hpc: {', '.join(strange)} mean nothing to "
                f"{cls.__name__}; use the version that wrote them, or make the file again"
            )
        values = {
            name: told.before
            for name, one in known.items()
            if (told := _declared(one)) and told.before is not None
        }
        for name, value in record.items():
            group = _group(known[name])
            values[name] = group.from_dict(value) if group else _tuples(value)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values of all recorded fields."""
        found = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if _recorded(one) and (value is not None or _KEY in one.metadata):
                found[one.name] = value.to_dict() if isinstance(value, Options) else value
        plain: dict[str, Any] = json.loads(json.dumps(found))
        return plain

    def caption(self) -> str:
        """The options that results depend on in words, as captions tell them."""
        return "; ".join(filter(None, self._phrases()))

    def _phrases(self) -> Iterator[str]:
        for one in (one for one in fields(self) if one.name not in self._untold()):
            value, known = getattr(self, one.name), _declared(one)
            if isinstance(value, Options):
                yield from value._phrases()
            elif known and known.caption:
                told = known.caption
                yield told.format(value) if isinstance(told, str) else told(value)

    def _untold(self) -> Collection[str]:
        """Fields that captions do not tell."""
        return ()

    def to_json(self) -> str:
        """Canonical JSON text."""
        return json.dumps(self.to_dict(), sort_keys=True)

    def digest(self) -> str:
        """Hash of all recorded options."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


def own(cls: type[Options]) -> list[Opt]:
    """Declarations of a class, without those of groups within."""
    return [declared for one in fields(cls) if (declared := _declared(one))]


def declared(cls: type[Options]) -> list[Opt]:
    """Declarations of a class and of the groups within it, in their order."""
    found = []
    for one in fields(cls):
        if group := _group(one):
            found += declared(group)
        elif known := _declared(one):
            found.append(known)
    return found


def _declared(one: Field[Any]) -> Opt | None:
    known: Opt | None = one.metadata.get(_KEY)
    if known is None:
        return None
    return replace(known, name=known.name or one.name, field=one.name)


def _group(one: Field[Any]) -> type[Options] | None:
    return type(one.default) if isinstance(one.default, Options) else None


def _recorded(one: Field[Any]) -> bool:
    known: Opt | None = one.metadata.get(_KEY)
    return known.recorded if known else bool(one.metadata.get("recorded", True))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def positive(flag: str, value: float) -> None:
    """Check of a length."""
    if not 0 < value < float("inf"):
        raise UsageError(f"{flag} must be a positive length in Å, not {value}")


def tolerance(flag: str, value: float) -> None:
    """Check of a length within which things are equal."""
    if value == 0:
        raise UsageError(
            f"{flag} 0: lengths are computed, and no two are equal to the last bit; take "
            f"{flag} {constants.CENSUS_ZERO:g}, at which only what is exact is accepted (a census "
            "tells phantoms at that scale beside any delta: strict)"
        )
    positive(flag, value)
    if value < constants.NUMERICAL_ZERO:
        raise UsageError(
            f"{flag} {value} Å is below numerical zero: take {constants.NUMERICAL_ZERO} Å or more"
        )


def at_least(least: float) -> Callable[[str, float], None]:
    """Check of a number that must not be smaller."""

    def check(flag: str, value: float) -> None:
        if not value >= least:
            raise UsageError(f"{flag} must be at least {least:g}, not {value}")

    return check


def known_name(flag: str, value: str, known: Sequence[str]) -> None:
    """Check of one name among others."""
    if value not in known:
        raise UsageError(f"{flag} {value!r}: one of {', '.join(known)}")


def ascending(least: float = 0.0, *, some_positive: bool = False) -> Callable[[str, Any], None]:
    """Check of a tuple of different lengths in Å, ascending, none below `least`."""

    def check(flag: str, values: tuple[float, ...]) -> None:
        for value in values if least > 0 else ():
            tolerance(flag, value)
        ordered = values and sorted(set(values)) == list(values)
        if (
            not ordered
            or not least <= values[0]
            or not values[-1] < float("inf")
            or (some_positive and not values[-1] > 0)
        ):
            bound = ", none negative" if least == 0 else ""
            more = ", one of them positive" if some_positive else ""
            raise UsageError(
                f"{flag} must be different lengths in Å, ascending{bound}{more}, "
                f"not {text_of(values) or 'none'}"
            )

    return check


def once_each(flag: str, values: tuple[str, ...]) -> None:
    """Check of names that must be some, and each once."""
    if not values or len(set(values)) != len(values):
        raise UsageError(f"{flag} must be some names, each once, not {', '.join(values) or 'none'}")


def lengths(text: str) -> tuple[float, ...]:
    """Comma-separated lengths, ascending, each once."""
    return tuple(sorted({float(part) for part in text.split(",")}))


def names(text: str) -> tuple[str, ...]:
    """Comma-separated names; an empty text, or ``none``, is none."""
    return () if text in ("", "none") else tuple(part.strip() for part in text.split(","))


def some_of(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Parser of ``all`` or comma-separated names of `known`, in their order."""

    def parse(text: str) -> tuple[str, ...]:
        asked = tuple(known) if text == "all" else text.split(",")
        strange = [name for name in asked if name not in known]
        if strange:
            raise ValueError(f"{strange[0]!r}: choose from all, {', '.join(known)}")
        return tuple(name for name in known if name in asked)

    return parse
