"""What can go wrong with a request, told from status, headers and body: pure functions."""

from __future__ import annotations

import email.utils
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum

from rc_hpc.core.text import parse_json


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
    body
        An answer that is no reply though it came with status 200.
    """

    def __init__(
        self, kind: Kind, message: str, status: int | None = None, wait_s: float | None = None
    ):
        super().__init__(message)
        self.kind, self.message, self.status, self.wait_s = kind, message, status, wait_s
        self.body = ""


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
#: A limit that passes, whatever its text says of plans and bills beside.
_PER_TIME = re.compile(
    r"rate[_ ]?limit|too[_ ]many[_ ]requests|per[ _-]?(?:second|minute|hour)|\b[rt]p[ms]\b"
    r"|requests? rate|(?:try|retry)(?: again)? (?:in|after)\b",
    re.IGNORECASE,
)
#: Delays that a body tells: "retryDelay": "2.5s", "retry_after": 3, "try again in 1m6.3s".
_FIELD_DELAY = re.compile(
    r"""retry[_-]?(?:delay|after)([_-]?ms)?["']?\s*:\s*["']?([\d.]{1,20})\s*([a-z]*)""",
    re.IGNORECASE,
)
_TOLD_DELAY = re.compile(
    r"(?:again|retry|available|resets?|wait)\s+(?:in|after|for)?\s*(?:about\s+|another\s+)?"
    r"((?:[\d.]{1,20}\s*(?:ms|milliseconds?|seconds?|secs?|minutes?|mins?|hours?|[smhd])\b\s*)"
    r"|(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[smhd]))+)",
    re.IGNORECASE,
)
_POLICY = re.compile(
    r"content[_ ](?:policy|filter)|moderation|safety (?:system|policy)|flagged", re.IGNORECASE
)
_DURATION = re.compile(r"(\d{1,20}(?:\.\d{1,20})?)\s*(ms|milli|s|m|h|d)[a-z]*")
#: So much of an error body is looked at, characters.
_LOOKED_AT = 20_000
_UNITS = {"ms": 1e-3, "milli": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


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
    wait = wait_asked(headers, now, body)
    if status == 402 or (status in (400, 403, 429) and _no_means(status, code, message, wait)):
        return Fault(
            Kind.RUN,
            f"the account has no quota or credit left ({told}); top it up, then go on with "
            "--resume",
            status,
        )
    if status in _CROWDED:
        return Fault(Kind.LIMITED, told, status, wait)
    if status >= 500 or status in _PASSING:
        return Fault(Kind.RETRY, told, status, wait)
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


def _no_means(status: int, code: str, message: str, wait: float | None) -> bool:
    """Whether an account is empty; limits per minute may speak of bills as well."""
    told = f"{code} {message}"
    if status == 429 and (_PER_TIME.search(told) or (wait and code != "insufficient_quota")):
        return False
    return bool(_BILLING.search(told))


def error_text(body: str) -> tuple[str, str]:
    """Code and message of an error body in any of the usual shapes; of HTML, the text alone."""
    try:
        content = parse_json(body)
        if isinstance(content, list) and len(content) == 1:  # Google's
            content = content[0]
        if isinstance(content, dict):
            error = content.get("error", content.get("detail", content.get("message", content)))
            if isinstance(error, dict):
                code = next(
                    (str(error[key]) for key in ("code", "type", "status") if error.get(key)), ""
                )
                return code[:100], _short(error.get("message", error), 500)
            return "", _short(error, 500)
        return "", _short(content, 500)
    except (ValueError, RecursionError):  # no JSON, or nested without end
        return "", _short(re.sub(r"<[^<>]{0,2000}>", " ", body[:_LOOKED_AT]), 300)


def _short(value: object, most: int) -> str:
    return " ".join(str(value)[:_LOOKED_AT].split())[:most]


def wait_asked(headers: Mapping[str, str], now: float, body: str = "") -> float | None:
    """Pause that an answer asks for, s: Retry-After and the body, else when limits are reset.

    Of the resets, the longest whose own limit is used up; where no limit says what remains, the
    shortest.
    """
    told = [
        wait for wait in (_retry_after(headers, now), _told(body[:_LOOKED_AT])) if wait is not None
    ]
    if told:
        return max(0.0, *told)
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


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    if (wait := _number(headers.get("retry-after-ms"))) is not None:
        return wait / 1000
    text = headers.get("retry-after")
    if (wait := _number(text)) is not None:
        return wait
    try:
        return email.utils.parsedate_to_datetime(text or "").timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return None


def _told(body: str) -> float | None:
    """The longest delay that a body tells, s; None where it tells none."""
    waits = []
    for milli, number, unit in _FIELD_DELAY.findall(body):
        if (value := _number(number)) is not None:
            waits.append(value * _UNITS.get("ms" if milli else unit.lower(), 1.0))
    for text in _TOLD_DELAY.findall(body):
        waits.append(_duration(text.lower()))
    return max(waits, default=None)


def _duration(text: str) -> float:
    return sum(float(value) * _UNITS[unit] for value, unit in _DURATION.findall(text))


def _until(text: str, now: float) -> float | None:
    """Seconds until a reset: a duration ("6m0s"), seconds, an epoch in s or ms, or a date."""
    if (number := _number(text)) is not None:
        if number > 1e11:
            number /= 1000
        return max(0.0, number - now if number > 1e9 else number)
    if _DURATION.search(text) and not _DURATION.sub("", text).strip():
        return _duration(text)
    try:
        date = datetime.fromisoformat(text)
        return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if number == number and abs(number) != float("inf") else None
