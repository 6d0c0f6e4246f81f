"""Command: ask a vision-language model which crystal system it sees, in several arms, and keep every reply."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rc_hpc.answers.parsers import PARSERS
from rc_hpc.answers.task import ARMS
from rc_hpc.core.old_door import Parser, guarded
from rc_hpc.core.vocabulary import TRUTHS

EXAMPLES = """\
  python jobs/query_vlm.py packed.h5 --pictures renders.h5 --arms pixels,coordinates \\
      --base-url http://127.0.0.1:8000/v1 --model my-model -o my-model.h5
                                  a local server (vLLM, llama.cpp, ...): no key is needed
  python jobs/query_vlm.py packed.h5 ... -o my-model.h5 --dry-run --prices prices.toml
                                  requests, bytes, rough tokens and cost; nothing is sent
  python jobs/query_vlm.py packed.h5 ... -o my-model.h5 --resume
                                  go on where a stopped or killed run was; no reply is paid for twice
  python jobs/query_vlm.py eval.jsonl --pictures renders.h5 --arms pixels,question-only --temperature 0.7 ...
                                  records with material_id, crystal_system and their own question
  python jobs/query_vlm.py eval_coords.jsonl --arms coordinates --cell stored ...
                                  records whose question holds the coordinates
  python jobs/query_vlm.py packed.h5 --provider anthropic --base-url URL --model M --max-tokens 2000 ...
                                  the key is read from $ANTHROPIC_API_KEY
  python jobs/query_vlm.py packed.h5 --pictures renders.h5 --arms extraction -o seen.h5 ...
  python jobs/query_vlm.py packed.h5 --arms answer-from-text --emitted seen.emitted.json ...
                                  one model extracts the atoms, another answers from them
  python jobs/query_vlm.py parse my-model.h5 --parser last-mention -o reread/
                                  read the stored replies again, with another parser; nothing is sent
  python -m rc_hpc.ladder my-model.predictions/ --census census.h5

  Beside my-model.h5: my-model.journal.jsonl (every reply as it came; keep it), my-model.predictions/
  (one file an arm, for the ladder), my-model.emitted.json (arm extraction).

arms:
  pixels            the pictures (R4)
  coordinates       the cell as text (R3)
  question-only     nothing: the control
  formula-only      the reduced formula
  extraction        the pictures; the model lists the atoms
  answer-from-text  the atoms that another run extracted, with the true cell parameters

Prices are TOML: currency = "USD", then ["model"] with input_per_million and output_per_million.
USR1, TERM and INT: no new request; answers in flight are waited for; exit 0, and --resume goes on."""


def parser() -> Parser:
    """Argument parser of the asking command."""
    p = Parser("python jobs/query_vlm.py", __doc__, EXAMPLES)
    p.add_argument(
        "source",
        metavar="SOURCE",
        help="packed HDF5 file (python -m rc_hpc.pack), or JSON lines with material_id, crystal_system, question, images",
    )
    p.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("answers.h5"),
        metavar="FILE",
        help="default: %(default)s",
    )
    p.add_argument(
        "--arms",
        type=_arms,
        default=("pixels",),
        metavar="ARM,ARM",
        help="what the model is shown; default: pixels",
    )
    p.add_argument(
        "--samples",
        type=_count,
        default=3,
        metavar="K",
        help="independent samples of each question; default: %(default)s",
    )
    what = p.add_argument_group("what is asked")
    what.add_argument(
        "--pictures", type=Path, metavar="FILE", help="render manifest (python -m rc_hpc.render)"
    )
    what.add_argument(
        "--structures",
        type=Path,
        metavar="FILE",
        help="packed file with the cells, where SOURCE is JSON lines",
    )
    what.add_argument(
        "--image-root",
        type=Path,
        metavar="DIR",
        help="folder below which records name their images; default: that of SOURCE",
    )
    what.add_argument(
        "--emitted",
        type=Path,
        metavar="FILE",
        help="atoms that the arm extraction wrote, for answer-from-text",
    )
    what.add_argument(
        "--cell",
        choices=("conventional", "stored"),
        default=None,
        help="cell of the arm coordinates: the conventional one, which is drawn (default), or the one that was read",
    )
    what.add_argument(
        "--prompt",
        choices=("own", "shipped"),
        default="own",
        help="own: a record's own question where it has one that fits the arm (default); shipped: always rc_hpc's",
    )
    what.add_argument(
        "--truth",
        choices=TRUTHS,
        default=TRUTHS[0],
        help="the cell whose label counts as true, where SOURCE is packed; default: %(default)s",
    )
    what.add_argument("--ids", type=Path, metavar="FILE", help="only these ids, one a line")
    what.add_argument(
        "--limit", type=_count, metavar="N", help="only N structures, scattered over the input"
    )
    who = p.add_argument_group("who is asked")
    who.add_argument("--model", metavar="NAME", help="as the endpoint calls it")
    who.add_argument(
        "--base-url",
        metavar="URL",
        help="of the API, usually ending in /v1; default: $OPENAI_BASE_URL or $ANTHROPIC_BASE_URL",
    )
    who.add_argument(
        "--provider",
        choices=("openai", "anthropic"),
        default="openai",
        help="dialect: chat completions (default; most servers), or Anthropic's messages",
    )
    who.add_argument(
        "--api-key-env",
        metavar="NAME",
        help="environment variable with the key; default: OPENAI_API_KEY or ANTHROPIC_API_KEY; a key is never an argument",
    )
    how = p.add_argument_group("parameters of each request; what is not given is not sent")
    how.add_argument("--temperature", type=_not_negative, metavar="T")
    how.add_argument("--max-tokens", type=_count, metavar="N")
    how.add_argument(
        "--max-completion-tokens",
        type=_count,
        metavar="N",
        help="the name that newer OpenAI models take instead",
    )
    how.add_argument(
        "--reasoning",
        type=_reasoning,
        metavar="WORD|JSON",
        help="an effort (low, high, ...), or the provider's object",
    )
    how.add_argument(
        "--extra",
        type=_object,
        default={},
        metavar="JSON",
        help="further fields, such as the provider pin of an aggregator",
    )
    pace = p.add_argument_group("pace and patience")
    pace.add_argument(
        "--concurrency",
        type=_count,
        default=16,
        metavar="N",
        help="requests at once at most; fewer while the endpoint complains; default: %(default)s",
    )
    pace.add_argument("--rpm", type=_positive, metavar="N", help="requests a minute at most")
    pace.add_argument("--tpm", type=_positive, metavar="N", help="tokens a minute at most")
    pace.add_argument(
        "--attempts",
        type=_count,
        default=8,
        metavar="N",
        help="attempts of a request; default: %(default)s",
    )
    pace.add_argument(
        "--connect-timeout",
        type=_positive,
        default=30.0,
        metavar="S",
        help="default: %(default)g s",
    )
    pace.add_argument(
        "--read-timeout",
        type=_positive,
        default=600.0,
        metavar="S",
        help="longest silence within an attempt; the whole has no limit; default: %(default)g s",
    )
    pace.add_argument(
        "--max-wait",
        type=_positive,
        default=600.0,
        metavar="S",
        help="stop if the endpoint asks to wait longer; default: %(default)g s",
    )
    pace.add_argument(
        "--grace",
        type=_positive,
        default=90.0,
        metavar="S",
        help="after a signal, wait so long for answers in flight; default: %(default)g s",
    )
    pace.add_argument(
        "--prices",
        type=Path,
        metavar="FILE",
        help="TOML of prices; without one cost is known only where the endpoint tells it",
    )
    pace.add_argument(
        "--max-spend", type=_positive, metavar="X", help="stop when this run has cost so much"
    )
    run = p.add_argument_group("run")
    run.add_argument(
        "--parser",
        choices=tuple(PARSERS),
        default=next(iter(PARSERS)),
        help="of the prediction files; the HDF5 file holds every parser's reading; default: %(default)s",
    )
    run.add_argument(
        "--resume",
        action="store_true",
        help="go on with earlier replies; requests that were given up are asked again",
    )
    run.add_argument(
        "--retry-failed",
        action="store_true",
        help="with --resume: ask again also what the endpoint rejected",
    )
    run.add_argument(
        "--overwrite",
        action="store_true",
        help="start anew; earlier replies are set aside, not removed",
    )
    run.add_argument(
        "--dry-run", action="store_true", help="say what would be asked; nothing is sent"
    )
    run.add_argument(
        "--progress",
        choices=("auto", "bar", "plain", "none"),
        default="auto",
        help="default: a bar on a terminal, else plain lines",
    )
    p.add_config()
    return p


def parse_parser() -> Parser:
    """Argument parser of the action parse."""
    p = Parser(
        "python jobs/query_vlm.py parse", "Read stored replies again; nothing is sent.", EXAMPLES
    )
    p.add_argument("answers", type=Path, metavar="FILE", help="file that jobs/query_vlm.py wrote")
    p.add_argument(
        "--parser", choices=tuple(PARSERS), default=next(iter(PARSERS)), help="default: %(default)s"
    )
    p.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder for the prediction files, one an arm",
    )
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, sys.argv[1:] if argv is None else list(argv))


def _run(argv: list[str]) -> int:
    if argv[:1] == ["parse"]:
        args = parse_parser().parse(argv[1:])
        from rc_hpc.vlm.results import parse_again

        return parse_again(args)
    args = parser().parse(argv)
    from rc_hpc.vlm.query import query

    return query(args)


class _Invalid(argparse.ArgumentTypeError, ValueError):
    """A value that argparse, or the reader of --config, refuses with its text."""


def _arms(text: str) -> tuple[str, ...]:
    arms = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if unknown := [arm for arm in arms if arm not in ARMS]:
        raise _Invalid(f"unknown arm {unknown[0]!r}; known are {', '.join(ARMS)}")
    return arms


def _count(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise _Invalid(f"{text!r} is no whole number above 0")
    return int(text)


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise _Invalid(f"{text!r} is no number above 0")
    return number


def _not_negative(text: str) -> float:
    return 0.0 if text.strip() in ("0", "0.0") else _positive(text)


def _reasoning(text: str):
    return _object(text) if text.lstrip().startswith("{") else text


def _object(text: str) -> dict:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise _Invalid(f"{text!r} is not valid JSON ({error})") from error
    if not isinstance(found, dict):
        raise _Invalid(f"{text!r} is no JSON object")
    return found


if __name__ == "__main__":
    sys.exit(main())
