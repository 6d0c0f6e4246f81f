"""One request until it has an answer, or is given up; aiohttp underneath."""

from __future__ import annotations

import asyncio
import io
import random
import time
import urllib.request
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.files import read_regular
from rc_hpc.core.vocabulary import Outcome
from rc_hpc.images.files import LARGEST_FILE
from rc_hpc.vlm.download import body_of
from rc_hpc.vlm.endpoints import Endpoint, Reply, is_loopback
from rc_hpc.vlm.faults import Fault, Kind
from rc_hpc.vlm.limiter import Limiter
from rc_hpc.vlm.prices import tokens_in, tokens_out
from rc_hpc.vlm.questions import PictureFile, Question, Request
from rc_hpc.vlm.secrets import mask_of

try:
    import aiohttp
except ImportError as error:
    raise UsageError("asking models needs aiohttp: pip install 'rc_hpc[vlm]'") from error


#: So much of an answer that is no reply is kept in the journal, characters.
_KEPT = 20_000
#: Longer waits have no date, s.
_LONG_S = 1e9


class Halt(Exception):
    """The run ends: what is not in flight is left for a later run."""


@dataclass(frozen=True)
class Patience:
    """How long to try.

    Attributes
    ----------
    attempts
        Attempts of one request at most.
    connect_s, read_s
        Longest wait for a connection, and for the next bytes of an answer. There is no limit on the
        whole: a model may think for long.
    first_s, longest_s
        Pause after the first failure, doubled after each further one up to `longest_s`; jittered.
    wait_s
        Longest wait that an endpoint may ask for; beyond it the run stops.
    answer_bytes
        Largest answer, unpacked.
    """

    attempts: int = 8
    connect_s: float = 30.0
    read_s: float = 600.0
    first_s: float = 0.5
    longest_s: float = 60.0
    wait_s: float = 600.0
    answer_bytes: int = 8_000_000


class Encoder:
    """Pictures as parts of a message.

    They are made once for each structure, in a thread, and kept while they are likely to be used.
    """

    def __init__(self, endpoint: Endpoint, keep: int):
        self._endpoint, self._keep = endpoint, keep
        self._made: OrderedDict[tuple[str, ...], asyncio.Task] = OrderedDict()
        self.n_made = 0

    async def __call__(self, pictures: tuple[PictureFile, ...]) -> list[bytes]:
        """The parts; raises RcError where a picture is missing or not what it was."""
        if not pictures:
            return []
        name = tuple(picture.sha256 for picture in pictures)
        if name not in self._made:
            self._made[name] = asyncio.create_task(asyncio.to_thread(self._encode, pictures))
            self.n_made += 1
            while len(self._made) > self._keep:
                self._made.popitem(last=False)
        self._made.move_to_end(name)
        return await asyncio.shield(self._made[name])

    def _encode(self, pictures: tuple[PictureFile, ...]) -> list[bytes]:
        parts = []
        for picture in pictures:
            try:
                data = read_regular(picture.path.resolve(), LARGEST_FILE)
                if sha256(data).hexdigest() != picture.sha256:
                    raise RcError(
                        "its SHA-256 has changed: draw the pictures again (python -m "
                        "rc_hpc.render), or name the right ones"
                    )
                parts.append(self._endpoint.picture(data))
            except OSError as error:
                raise RcError(
                    f"{picture.path}: cannot be read ({error.strerror}): draw the pictures again, "
                    "or name the right ones"
                ) from error
            except RcError as error:
                raise RcError(f"{picture.path}: {error}") from error
        return parts


class Client:
    """Asks one endpoint. Use as an asynchronous context manager.

    Parameters
    ----------
    endpoint, base_url, key
        Dialect, address and secret; the secret goes into the headers and nowhere else.
    parameters
        Fields of every request, the model among them.
    limiter, patience
    halted
        Returns why the run ends, or an empty string.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        base_url: str,
        key: str | None,
        parameters: dict,
        limiter: Limiter,
        patience: Patience,
        halted: Callable[[], str] = str,
        luck: random.Random | None = None,
    ):
        self.endpoint, self.parameters, self.limiter, self.patience = (
            endpoint,
            parameters,
            limiter,
            patience,
        )
        self.url = f"{base_url.rstrip('/')}/{endpoint.path}"
        self._key, self._halted, self._luck = key, halted, luck or random.Random()
        self._mask = mask_of(key)
        self._encoder = Encoder(endpoint, limiter.most)
        self._proxy = proxy_of(self.url)
        self._output = float(
            parameters.get("max_tokens", parameters.get("max_completion_tokens", 500)) or 500
        )
        self._session: Any = None  # opened with the client

    async def __aenter__(self):
        patience = self.patience
        self._session = aiohttp.ClientSession(
            # The limiter queues, never the pool: waiting there would count as connecting.
            connector=aiohttp.TCPConnector(limit=self.limiter.most),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=patience.connect_s, sock_read=patience.read_s
            ),
            headers=self.endpoint.headers(self._key),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # it unpacks without limit
        )
        return self

    async def __aexit__(self, *_):
        await self._session.close()

    async def ask(self, request: Request, sending: Callable[[], None]) -> dict:
        """The record of a request: reply or failure, with the log of its attempts.

        Parameters
        ----------
        sending
            Called once, before the first attempt goes out.

        Raises
        ------
        Halt
            The run ended before there was an answer.
        Fault
            No request will work.
        RcError
            A picture cannot be sent.
        """
        question = request.question
        parts = await self._encoder(question.pictures)
        body = self.endpoint.body(self.parameters, question.prompt or "", parts)
        attempts: list[dict] = []
        for number in range(1, self.patience.attempts + 1):
            given = await self.limiter.enter(question.n_tokens + self._output, self._sleep)
            began = _now()
            try:
                self._check()
                if number == 1:
                    sending()
                reply = await self._once(body)
            except Fault as fault:
                fault.message = self._mask.text(fault.message)
                fault.args = (fault.message,)
                if fault.kind is Kind.LIMITED:
                    self.limiter.complained(given, fault.wait_s)
                attempts.append(
                    {
                        "at": began,
                        "seconds": self._since(given),
                        "status": fault.status,
                        "fault": fault.message,
                        "kind": fault.kind.value,
                    }
                )
                if fault.body:
                    attempts[-1]["body"] = self._mask.text(fault.body)
                failed = fault
            else:
                given_in, given_out = tokens_in(reply.usage), tokens_out(reply.usage)
                known = given_in is not None and given_out is not None
                told = (given_in or 0) + (given_out or 0) - question.n_tokens - self._output
                self.limiter.succeeded(told if known else 0.0)
                attempts.append({"at": began, "seconds": self._since(given), "status": 200})
                return self._record(request, attempts, reply)
            finally:
                await self.limiter.leave()
            if failed.kind is Kind.RUN:
                raise failed
            if failed.kind in (Kind.REQUEST, Kind.REFUSED):
                outcome = Outcome.refused if failed.kind is Kind.REFUSED else Outcome.request_error
                return self._record(request, attempts, Reply(outcome, message=failed.message))
            if (wait := failed.wait_s or 0.0) > self.patience.wait_s:
                raise Fault(
                    Kind.RUN,
                    f"the endpoint asks to wait {_until(wait)} ({failed.message}): go on after "
                    "that with --resume, or set --max-wait higher",
                    failed.status,
                )
            if number < self.patience.attempts:
                attempts[-1]["pause"] = pause = self._pause(number, failed.wait_s)
                await self._sleep(pause)
        return self._record(
            request,
            attempts,
            Reply(
                Outcome.gave_up,
                message=f"{len(attempts)} attempts failed, the last with {failed.message}",
            ),
        )

    async def _once(self, body: bytes) -> Reply:
        try:
            # BytesIO: aiohttp writes it in pieces, and warns of large plain bytes.
            async with self._session.post(
                self.url, data=io.BytesIO(body), proxy=self._proxy, allow_redirects=False
            ) as answer:
                raw = await body_of(answer, self.patience.answer_bytes, self.patience.read_s)
                headers = {name.lower(): value for name, value in answer.headers.items()}
                status = answer.status
        except TimeoutError as error:
            raise Fault(Kind.RETRY, f"no answer in time ({type(error).__name__})") from None
        except aiohttp.ClientSSLError as error:
            raise Fault(
                Kind.RUN,
                f"no trusted connection ({error}): check --base-url and the machine's certificates",
            ) from None
        except aiohttp.InvalidURL as error:
            raise Fault(Kind.RUN, f"--base-url is not usable ({error})") from None
        except (aiohttp.ClientError, OSError) as error:
            raise Fault(Kind.RETRY, f"{type(error).__name__}: {error}".rstrip(": ")) from None
        return self._read(status, headers, raw.decode(errors="replace"))

    def _read(self, status: int, headers: dict[str, str], body: str) -> Reply:
        """The reply in an answer; whatever stands there, nothing but a Fault comes of it."""
        try:
            return self.endpoint.read(status, headers, body, time.time())
        except Fault as fault:
            if 200 <= status < 300:  # it may have been paid for
                fault.body = body[:_KEPT]
            raise
        except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
            unread = Fault(Kind.REQUEST, f"the answer cannot be read ({error!r})"[:300], status)
            unread.body = body[:_KEPT]
            raise unread from None

    def _pause(self, number: int, asked_s: float | None) -> float:
        if asked_s is not None:  # never sooner than asked; not all at once either
            return asked_s + self._luck.uniform(0.0, 0.1 * asked_s + 0.05)
        return self._luck.uniform(0.5, 1.0) * min(
            self.patience.longest_s, self.patience.first_s * 2 ** (number - 1)
        )

    async def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._check()
            await asyncio.sleep(min(left, 0.25))
        self._check()

    def _check(self) -> None:
        if self._halted():
            raise Halt

    def _since(self, given: float) -> float:
        return round(time.monotonic() - given, 4)

    def _record(self, request: Request, attempts: list[dict], reply: Reply) -> dict:
        question: Question = request.question
        said = self._mask.value(
            {
                "text": reply.text,
                "reasoning": reply.reasoning,
                "finish_reason": reply.finish_reason,
                "usage": reply.usage,
                "model": reply.model,
                "provider": reply.provider,
                "reply_id": reply.reply_id,
                "message": reply.message,
            }
        )
        return {
            "key": request.key,
            "id": question.id,
            "arm": question.arm,
            "sample": request.sample,
            "outcome": reply.outcome.name,
            **said,
            "started": attempts[0]["at"],
            "ended": _now(),
            "seconds": attempts[-1]["seconds"],
            "attempts": attempts,
            "prompt": question.prompt,
            "prompt_version": question.prompt_version,
            "images": [picture.sha256 for picture in question.pictures],
            "parameters": self.parameters,
        }


def proxy_of(url: str) -> str | None:
    """The proxy that the environment names for an address; none for this very machine.

    As aiohttp's `trust_env`, without its look into ~/.netrc, whose entries would take the place of
    the key.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(parts.scheme, proxies.get("all"))


def _until(wait_s: float) -> str:
    """Until when a wait lasts, in words."""
    if wait_s > _LONG_S:
        return f"{wait_s:.3g} s"
    end = datetime.fromtimestamp(time.time() + wait_s).astimezone()
    return f"until {end.isoformat(timespec='minutes')}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
