"""Replies a second against an endpoint that bears a known number, and memory while they come in.

The endpoint is the tests' stub in a process of its own: so many answers at once, each of a fixed
latency, hence slots / latency replies a second at most. Every request carries five pictures. Rounds
alternate between a bare aiohttp loop that keeps nothing and does nothing else, rc_hpc's client with
its journal against an endpoint that lets excess requests wait, and the same against one that
refuses them with 429. Resident memory is taken at every tenth.
"""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path

from bench.common import ROOT, clocked

KINDS = ("bare", "waits", "refuses")


@contextmanager
def endpoint(folder: Path, slots: int, latency_s: float, refuse: bool):
    """Base URL of a stub."""
    port = folder / "port"
    port.unlink(missing_ok=True)
    more = ["--refuse"] if refuse else []
    stub = subprocess.Popen(
        [
            sys.executable,
            ROOT / "tests" / "vlm_stub.py",
            port,
            "--slots",
            str(slots),
            "--latency",
            str(latency_s),
            *more,
        ]
    )
    try:
        while not port.exists():
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port.read_text()}/v1"
    finally:
        stub.kill()
        stub.wait()


def resident_mib() -> float:
    """Resident memory of this process, MiB."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(
    rounds: int = 2,
    replies: int = 960,
    slots: int = 16,
    latency_s: float = 0.5,
    concurrency: int = 64,
    picture_bytes: int = 100_000,
) -> dict:
    """Rounds of every kind.

    Parameters
    ----------
    replies
        Requests of a round; every third is of another structure, as with three samples each.
    slots, latency_s
        Of the endpoint: its limit is slots / latency_s.
    concurrency
        Requests at once at most.
    picture_bytes
        Size of each of five pictures.
    """
    folder = Path(tempfile.mkdtemp(prefix="rc-bench-"))
    try:
        questions = _questions(folder, -(-replies // 3), picture_bytes)
        runs = []
        for number in range(rounds):
            for kind in KINDS if number % 2 == 0 else reversed(KINDS):
                with endpoint(folder, slots, latency_s, kind == "refuses") as url:
                    memory: list[float] = []
                    run = _bare if kind == "bare" else _own
                    at_once = slots if kind == "bare" else concurrency
                    work = run(url, questions, replies, at_once, memory, folder)
                    (cpu, wall), facts = clocked(partial(asyncio.run, work))
                runs.append(
                    {
                        "kind": kind,
                        "cpu_s": cpu,
                        "wall_s": wall,
                        "replies_per_s": replies / wall,
                        "resident_mib": [round(value, 1) for value in memory],
                        **facts,
                    }
                )
        return {"limit_per_s": slots / latency_s, "runs": runs}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _questions(folder: Path, n: int, picture_bytes: int) -> list:
    from rc_hpc.vlm.questions import PictureFile, Question

    found = []
    for number in range(n):
        pictures = []
        for view in range(5):
            path = folder / f"{number}-{view}.png"
            data = b"\x89PNG" + os.urandom(picture_bytes)
            path.write_bytes(data)
            pictures.append(PictureFile(path, sha256(data).hexdigest(), len(data), 768 * 768))
        found.append(Question(f"id-{number}", "pixels", "What is it?", "v1", tuple(pictures)))
    return found


async def _bare(
    url: str, questions: list, replies: int, concurrency: int, memory: list[float], folder: Path
) -> dict:
    import aiohttp

    from rc_hpc.vlm.endpoints import OPENAI

    left = iter(range(replies))
    bodies = [
        OPENAI.body(
            {"model": "m"},
            question.prompt,
            [OPENAI.picture(picture.path.read_bytes()) for picture in question.pictures],
        )
        for question in questions[:8]
    ]

    async def work(session) -> None:
        for number in left:
            async with session.post(
                f"{url}/chat/completions",
                data=io.BytesIO(bodies[number % 8]),
                headers={"Content-Type": "application/json"},
            ) as answer:
                await answer.read()

    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(work(session) for _ in range(concurrency)))
    return {}


async def _own(
    url: str, questions: list, replies: int, concurrency: int, memory: list[float], folder: Path
) -> dict:
    from rc_hpc.vlm.client import Client, Patience
    from rc_hpc.vlm.endpoints import OPENAI
    from rc_hpc.vlm.journal import Journal
    from rc_hpc.vlm.limiter import Limiter
    from rc_hpc.vlm.pool import Terms, run
    from rc_hpc.vlm.questions import requests

    path = folder / "a.journal.jsonl"
    path.unlink(missing_ok=True)
    parameters, limiter, journal = {"model": "m"}, Limiter(concurrency), Journal(path, {})

    def tell(tally) -> None:
        if tally.done % (replies // 10) == 0:
            memory.append(resident_mib())

    wanted = list(requests(questions, 3, parameters))[:replies]
    tally = await run(
        wanted,
        concurrency,
        lambda halted: Client(OPENAI, url, None, parameters, limiter, Patience(), halted),
        journal,
        Terms(),
        tell=tell,
    )
    await journal.close()
    if tally.problem is not None or tally.done != replies or tally.failed:
        raise SystemExit(f"the run went wrong: {tally}")
    return {"cuts": limiter.cuts, "last_limit": round(limiter.limit, 1)}
