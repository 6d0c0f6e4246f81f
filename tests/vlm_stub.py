"""A small endpoint that answers as real ones do, faults included; on 127.0.0.1 only.

In a test: `with Stub(...) as stub`. As a program:
``python vlm_stub.py PORT_FILE [--faults SHARE] ...``.
"""

import argparse
import asyncio
import base64
import hashlib
import json
import os
import random
import threading
import time
from collections import Counter
from pathlib import Path

from aiohttp import web

SYSTEMS = (
    "triclinic",
    "monoclinic",
    "orthorhombic",
    "tetragonal",
    "trigonal",
    "hexagonal",
    "cubic",
)
HTML = (
    "<html><head><title>502 Bad Gateway</title></head><body><h1>Bad gateway</h1>nginx</body></html>"
)


def chat(text="ANSWER: cubic", reason="stop", usage=True, **message):
    """A chat completion as a dict."""
    found = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "resolved-model-2",
        "provider": "stub",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, **message},
                "finish_reason": reason,
            }
        ],
    }
    return found | (
        {"usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}}
        if usage
        else {"usage": None}
    )


def error(message="it failed", code=None, kind="api_error"):
    """An error body as a dict."""
    return {"error": {"message": message, "type": kind, "code": code}}


#: Faults that pass, by name: status, headers and body; a status of 0 tears the connection.
FAULTS = {
    "429 with milliseconds": (
        429,
        {"retry-after": "1", "retry-after-ms": "30"},
        error("slow down", "rate_limit_exceeded"),
    ),
    "429 bare": (429, {}, error("slow down")),
    "500": (500, {}, error("it broke")),
    "500 text": (500, {}, "Internal Server Error"),
    "502 HTML": (502, {"content-type": "text/html"}, HTML),
    "503": (503, {"retry-after": "0"}, error("busy")),
    "524 empty": (524, {}, ""),
    "529": (529, {}, error("Overloaded", None, "overloaded_error")),
    "408": (408, {}, error("too slow")),
    "200 error": (200, {}, error("the provider failed", 502)),
    "200 error in the choice": (
        200,
        {},
        {
            "choices": [
                {
                    "message": {"content": ""},
                    "finish_reason": "error",
                    "error": {"code": 503, "message": "gone"},
                }
            ]
        },
    ),
    "200 no choices": (200, {}, {"choices": None, "usage": None}),
    "200 no JSON": (200, {}, '{"choices": [{"mess'),
    "reset": (0, {}, "before"),
    "cut body": (0, {}, "within"),
}


class Stub:
    """The endpoint.

    Parameters
    ----------
    answer
        Called as answer(body, number) with the parsed request and its number from 0; returns
        (status, headers, body), a dict for a 200, or None for the default: a system chosen by the
        hash of the prompt.
    faults
        Share of requests that meet one of `FAULTS`; for one body at most five, or as many as it
        has had replies.
    latency_s, slots, queue
        Time of an answer, answers at once, and whether more than those wait (else they get 429).
    key
        Demanded of every request.
    keep
        Requests of which time, headers and body are kept.
    """

    def __init__(
        self,
        answer=None,
        faults=0.0,
        latency_s=0.0,
        slots=None,
        queue=True,
        key=None,
        seed=0,
        keep=200,
    ):
        self.answer, self.faults, self.latency_s, self.slots, self.queue, self.key = (
            answer,
            faults,
            latency_s,
            slots,
            queue,
            key,
        )
        self.luck = random.Random(seed)
        self.n, self.keep = 0, keep
        self.bodies, self.headers, self.times = [], [], []
        self.met = Counter()  # faults by name
        self.per_body = Counter()
        self.replied = Counter()  # replies by hash of the body
        self.at_once = self.most_at_once = 0
        self._lock = None

    def app(self):
        """The web application."""
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/chat/completions", self.handle)
        app.router.add_post("/v1/messages", self.handle)
        app.router.add_get("/v1/models", self.models)
        app.router.add_get("/stub/counts", self.counts)
        return app

    async def counts(self, request):
        return web.json_response({"n": self.n, "met": self.met, "replied": self.replied})

    async def models(self, request):
        return web.json_response({"object": "list", "data": [{"id": "m", "object": "model"}]})

    async def handle(self, request):
        number, self.n = self.n, self.n + 1
        raw = await request.read()
        if len(self.bodies) < self.keep:
            self.times.append(time.monotonic())
            self.headers.append(dict(request.headers))
            self.bodies.append(raw)
        name = hashlib.sha256(raw).hexdigest()
        if self.key and self.key not in (
            request.headers.get("Authorization", "").removeprefix("Bearer "),
            request.headers.get("x-api-key"),
        ):
            return web.json_response(
                error(
                    f"Incorrect API key provided: {request.headers.get('Authorization')}",
                    "invalid_api_key",
                ),
                status=401,
            )
        if self.luck.random() < self.faults and self.per_body[name] < max(5, self.replied[name]):
            self.per_body[name] += 1
            fault = self.luck.choice(list(FAULTS))
            self.met[fault] += 1
            return await self.respond(request, FAULTS[fault])
        if self.slots is not None and not self.queue and self.at_once >= self.slots:
            self.met["429 beyond the slots"] += 1
            return await self.respond(request, (429, {}, error("too many at once")))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.slots is not None and self.queue:
                self._lock = self._lock or asyncio.Semaphore(self.slots)
                async with self._lock:
                    await asyncio.sleep(self.latency_s)
            else:
                await asyncio.sleep(self.latency_s)
        finally:
            self.at_once -= 1
        answer = self.answer(json.loads(raw), number) if self.answer else None
        if answer is None:
            answer = self.usual(name, number)
        response = await self.respond(
            request, answer if isinstance(answer, tuple) else (200, {}, answer)
        )
        self.replied[name] += 1
        return response

    @staticmethod
    def usual(name, number):
        """A reply in one of the shapes that are ordinary."""
        text = f"I see edges.\nANSWER: {SYSTEMS[int(name[:4], 16) % 7]}"
        return [
            lambda: chat(text),
            lambda: chat([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]),
            lambda: chat(text, usage=False),
            lambda: chat(text, reason=None),
            lambda: chat(text, reasoning_content="hm, cubic?"),
        ][number % 5]()

    @staticmethod
    async def respond(request, answer):
        status, headers, body = answer
        if status == 0:
            if body == "within":
                response = web.StreamResponse(headers={"Content-Length": "1000"})
                await response.prepare(request)
                await response.write(b'{"choices": [')
            request.transport.abort()
            return web.Response()
        text = body if isinstance(body, str) else json.dumps(body)
        kind = headers.get(
            "content-type", "text/plain" if isinstance(body, str) else "application/json"
        )
        return web.Response(
            status=status,
            text=text,
            content_type=kind,
            headers={k: v for k, v in headers.items() if k != "content-type"},
        )

    # in a thread, for tests

    def __enter__(self):
        self._ready, self._loop = threading.Event(), asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        assert self._ready.wait(20)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(20)

    @property
    def url(self):
        """Base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def _serve(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._start())
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._runner.cleanup())
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()

    async def _start(self, port=0):
        self._runner = web.AppRunner(self.app(), access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]


def pictures_of(body):
    """PNG bytes of the pictures in a request, in order."""
    parts = body["messages"][0]["content"]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [base64.b64decode(url.removeprefix("data:image/png;base64,")) for url in urls]


def letter(body, number):
    """A letter chosen by the hash of the prompt."""
    text = json.dumps(body["messages"])
    return chat(f"[ANSWER]{'ABCD'[hashlib.sha256(text.encode()).digest()[0] % 4]}[/ANSWER]")


async def _program(args):
    stub = Stub(
        letter if args.letters else None,
        faults=args.faults,
        latency_s=args.latency,
        slots=args.slots,
        queue=not args.refuse,
        seed=args.seed,
        keep=0,
    )
    await stub._start(args.port)
    temporary = args.port_file.with_suffix(".tmp")
    temporary.write_text(str(stub.port))
    os.replace(temporary, args.port_file)
    parent = os.getppid()
    while os.getppid() == parent:  # never outlives the test that started it
        await asyncio.sleep(0.5)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("port_file", type=Path)
    p.add_argument("--port", type=int, default=0)
    p.add_argument("--faults", type=float, default=0.0)
    p.add_argument("--latency", type=float, default=0.0)
    p.add_argument("--slots", type=int)
    p.add_argument("--refuse", action="store_true")
    p.add_argument("--letters", action="store_true")
    p.add_argument("--seed", type=int, default=0)
    asyncio.run(_program(p.parse_args()))
