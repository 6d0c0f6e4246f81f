"""What a dry run tells: requests, bytes, rough tokens and cost."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rc_hpc.vlm.journal import read_journal
from rc_hpc.vlm.options import AskingOptions, QuestionOptions
from rc_hpc.vlm.outputs import Outputs
from rc_hpc.vlm.prices import Price
from rc_hpc.vlm.questions import Question, requests

#: Tokens of a reply where no limit was given, for estimates.
TYPICAL_REPLY = 500


def plan(
    questions: Sequence[Question],
    asked: QuestionOptions,
    work: AskingOptions,
    parameters: dict,
    price: Price | None,
) -> str:
    """What would be asked, line by line."""
    journal = Outputs(work.output).journal
    known = read_journal(journal).places if journal.exists() and not work.overwrite else {}
    every = list(requests(questions, asked.samples, parameters))
    left = [request.question for request in every if request.key not in known]
    limit = parameters.get("max_tokens") or parameters.get("max_completion_tokens")
    given = sum(question.n_tokens for question in left)
    got = len(left) * (limit or TYPICAL_REPLY)
    told = f" (of {len(every)}; the others have replies in {journal})"
    cost = f"{price.of(given, got):.4g} {price.currency}" if price else "not known (give --prices)"
    facts = {
        "structures": len({question.id for question in questions}),
        "arms": ", ".join(asked.arms),
        "samples of each": asked.samples,
        "requests": f"{len(left)}{told if len(left) < len(every) else ''}",
        "pictures of a structure": max((len(one.pictures) for one in questions), default=0),
        "bytes to send": f"{sum(question.n_bytes for question in left):,}",
        "tokens to send, roughly": f"{given:,}",
        "tokens to receive, at most roughly": f"{got:,}",
        "cost, at most roughly": cost,
        "parameters": json.dumps(parameters),
    }
    if nothing := sum(question.prompt is None for question in questions):
        facts["structures with nothing to ask about"] = nothing
    lines = (f"  {name}: {value}" for name, value in facts.items())
    return "\n".join((f"would write {work.output}:", *lines))
