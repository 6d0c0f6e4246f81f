"""What replies cost: usage as endpoints give it, prices from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rc_hpc.core.errors import UsageError
from rc_hpc.core.text import parse_toml

#: What is no less than these is no count of one reply's tokens, and no cost of it.
_MOST_TOKENS = 10**12
_MOST_COST = 1e9


@dataclass(frozen=True)
class Price:
    """Price of a million tokens that go in and that come out, in `currency`."""

    input_per_million: float
    output_per_million: float
    currency: str = "USD"

    def of(self, tokens_in: float, tokens_out: float) -> float:
        """Cost of so many tokens."""
        return (tokens_in * self.input_per_million + tokens_out * self.output_per_million) / 1e6


def read_price(path: Path, model: str) -> Price:
    """A model's price from a TOML file.

    Raises
    ------
    UsageError
        Unreadable, or the model is not in it.
    """
    try:
        content = parse_toml(Path(path).read_text(encoding="utf-8"))
        entry = content[model]
        return Price(
            float(entry["input_per_million"]),
            float(entry["output_per_million"]),
            str(content.get("currency", "USD")),
        )
    except (OSError, ValueError) as error:
        raise UsageError(f"--prices {path}: cannot be read ({error})") from error
    except (KeyError, TypeError) as error:
        raise UsageError(
            f'--prices {path}: give ["{model}"] with input_per_million and output_per_million'
        ) from error


def count(usage: Mapping | None, *names: str) -> int | None:
    """A count of a usage under the first of these names that has one.

    None is kept, never made 0. A dot in a name goes one level down.
    """
    for name in names:
        value = usage
        for key in name.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS:
            return value
    return None


def tokens_in(usage: Mapping | None) -> int | None:
    """Tokens of the request, cached ones included (Anthropic counts those apart)."""
    whole = count(usage, "prompt_tokens")
    if whole is not None:
        return whole
    parts = [
        count(usage, name)
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    ]
    return None if parts[0] is None else sum(part or 0 for part in parts)


def tokens_out(usage: Mapping | None) -> int | None:
    """Tokens of the reply, reasoning included."""
    return count(usage, "completion_tokens", "output_tokens")


def reasoning_tokens(usage: Mapping | None) -> int | None:
    """Tokens of the reply spent on reasoning."""
    return count(
        usage,
        "completion_tokens_details.reasoning_tokens",
        "output_tokens_details.reasoning_tokens",
        "reasoning_tokens",
    )


def cost(usage: Mapping | None, price: Price | None) -> float | None:
    """Cost of a reply: what the endpoint says, else by price; None where neither tells."""
    told = usage.get("cost") if isinstance(usage, Mapping) else None
    if isinstance(told, (int, float)) and not isinstance(told, bool) and 0 <= told < _MOST_COST:
        return float(told)
    given, got = tokens_in(usage), tokens_out(usage)
    return None if price is None or given is None or got is None else price.of(given, got)
