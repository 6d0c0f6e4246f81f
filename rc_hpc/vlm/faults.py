"""What can go wrong with a request, told from status, headers and body: pure functions."""

from __future__ import annotations

import email.utils
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum


class Kind(Enum):
    """What a fault asks for."""

    RETRY = "retry"  # try again after a pause
    LIMITED = "limited"  # the same, and ask less at a time
    REQUEST = "request"  # this request will never work
    REFUSED = "refused"  # the provider's rules forbid this one
    RUN = "run"  # no request will work: stop


class Fault(Exception):
    """A failed attempt.

    Attributes
    ----------
    kind
    message
        For people, without secrets.
    status
        HTTP status; None where there was no answer.
    wait_s
        Pause that the endpoint asks for, s; None where it names none.
    """

    def __init__(
        self, kind: Kind, message: str, status: int | None = None, wait_s: float | None = None
    ):
        super().__init__(message)
        self.kind, self.message, self.status, self.wait_s = kind, message, status, wait_s


#: Statuses below 500 that pass by themselves.
_PASSING = {408, 409, 425}
#: Statuses that say "too much at once"; 529 is Anthropic's.
_CROWDED = {429, 503, 529}
#: An account without means: waiting does not help.
_BILLING = re.compile(
    r"insufficient[_ ]quota|billing|credit balance|payment required"
    r"|insufficient (?:credits|funds|balance)|quota.{0,20}exhausted",
    re.IGNORECASE,
)
_POLICY = re.compile(
    r"content[_ ](?:policy|filter)|moderation|safety (?:system|policy)|flagged", re.IGNORECASE
)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def fault_of(status: int, headers: Mapping[str, str], body: str, now: float) -> Fault:
    """The fault of an answer that is no reply.

    Parameters
    ----------
    status
        Of HTTP, or that of an error body that came with 200.
    headers
        With lower-case names.
    body
        As text; need not be JSON.
    now
        Seconds since 1970.
    """
    code, message = error_text(body)
    told = f"{status} {code}: {message}" if code and code not in message else f"{status}: {message}"
    told = told.rstrip(": ")
    if status == 402 or (status in (400, 403, 429) and _BILLING.search(f"{code} {message}")):
        return Fault(
            Kind.RUN,
            f"the account has no quota or credit left ({told}); top it up, then go on with "
            "--resume",
            status,
        )
    if status in _CROWDED:
        return Fault(Kind.LIMITED, told, status, wait_asked(headers, now))
    if status >= 500 or status in _PASSING:
        return Fault(Kind.RETRY, told, status, wait_asked(headers, now))
    if status in (400, 403) and _POLICY.search(f"{code} {message}"):
        return Fault(Kind.REFUSED, told, status)
    if status in (401, 403, 407):
        return Fault(
            Kind.RUN,
            f"the endpoint does not let us in ({told}); check the key in the variable that "
            "--api-key-env names",
            status,
        )
    if status in (404, 405):
        return Fault(
            Kind.RUN,
            f"no such endpoint or model ({told}); check --base-url (it often ends in /v1) and "
            "--model",
            status,
        )
    if 300 <= status < 400:
        return Fault(
            Kind.RUN,
            f"the endpoint moved ({status} to {headers.get('location', 'nowhere')}); give that as "
            "--base-url",
            status,
        )
    return Fault(Kind.REQUEST, told, status)


def error_text(body: str) -> tuple[str, str]:
    """Code and message of an error body in any of the usual shapes; of HTML, the text alone."""
    try:
        content = json.loads(body)
    except ValueError:
        return "", " ".join(re.sub(r"<[^>]*>", " ", body).split())[:300]
    if isinstance(content, dict):
        error = content.get("error", content.get("detail", content.get("message", content)))
        if isinstance(error, dict):
            code = next(
                (str(error[key]) for key in ("code", "type", "status") if error.get(key)), ""
            )
            return code, " ".join(str(error.get("message", error)).split())[:500]
        return "", " ".join(str(error).split())[:500]
    return "", " ".join(str(content).split())[:500]


def wait_asked(headers: Mapping[str, str], now: float) -> float | None:
    """Pause that an answer asks for, s: Retry-After before the times at which limits are reset.

    Of those, the longest whose own limit is used up; where no limit says what remains, the
    shortest.
    """
    if (wait := _number(headers.get("retry-after-ms"))) is not None:
        return max(0.0, wait / 1000)
    if (text := headers.get("retry-after")) is not None:
        if (wait := _number(text)) is not None:
            return max(0.0, wait)
        try:
            return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - now)
        except ValueError:
            pass
    waits = {
        name: wait
        for name, text in headers.items()
        if "ratelimit" in name and "reset" in name and (wait := _until(text, now)) is not None
    }
    if not waits:
        return None
    used_up = [
        wait
        for name, wait in waits.items()
        if _number(headers.get(name.replace("reset", "remaining"))) == 0
    ]
    return max(used_up) if used_up else min(waits.values())


def _until(text: str, now: float) -> float | None:
    """Seconds until a reset: a duration ("6m0s"), seconds, an epoch in s or ms, or a date."""
    if (number := _number(text)) is not None:
        if number > 1e11:
            number /= 1000
        return max(0.0, number - now if number > 1e9 else number)
    if (parts := _DURATION.findall(text)) and not _DURATION.sub("", text).strip():
        return sum(float(value) * _UNITS[unit] for value, unit in parts)
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return None
    return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if number == number and abs(number) != float("inf") else None
