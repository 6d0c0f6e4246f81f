"""Made-up questions, and a run of the client by itself."""

import asyncio
from hashlib import sha256

from rc_hpc.vlm.client import Client, Patience
from rc_hpc.vlm.endpoints import OPENAI
from rc_hpc.vlm.journal import Journal, Records
from rc_hpc.vlm.limiter import Limiter
from rc_hpc.vlm.pool import Terms, run
from rc_hpc.vlm.questions import PictureFile, Question, requests

KEY = "sk-very-secret-0123456789"
QUICK = Patience(first_s=0.01, longest_s=0.05)


def questions(n, pictures=()):
    return [
        Question(f"id-{number}", "pixels", f"prompt {number}", "v1", tuple(pictures))
        for number in range(n)
    ]


def picture(path, data=b"\x89PNG"):
    """A file written, as a picture of 768 x 768."""
    path.write_bytes(data)
    return PictureFile(path, sha256(data).hexdigest(), len(data), 768 * 768)


def ask(
    url,
    folder,
    asked,
    samples=1,
    patience=QUICK,
    workers=8,
    endpoint=OPENAI,
    key=KEY,
    terms=None,
    parameters=None,
    **more,
):
    """Tally and records, in order, of a run of its own."""
    parameters = parameters or {"model": "m", **endpoint.defaults}
    path = folder / "a.journal.jsonl"

    async def go():
        journal = Journal(path, parameters, resume=True)
        wanted = [r for r in requests(asked, samples, parameters) if journal.outcome(r.key) is None]
        try:
            return await run(
                wanted,
                workers,
                lambda halted: Client(
                    endpoint, url, key, parameters, Limiter(workers), patience, halted
                ),
                journal,
                terms or Terms(),
                **more,
            )
        finally:
            await journal.close()

    tally = asyncio.run(go())
    return tally, list(Records(path).read([r.key for r in requests(asked, samples, parameters)]))


def outcomes(records):
    return [record and record["outcome"] for record in records]
