"""Command: ask a vision-language model about crystals or a benchmark, and keep every reply."""

from __future__ import annotations

import sys
from pathlib import Path

from rc_hpc.core.door import Parser, Talk, guarded
from rc_hpc.core.lazy import resolve
from rc_hpc.vlm.options import (
    AskingOptions,
    PaceOptions,
    QueryOptions,
    QuestionOptions,
    RequestOptions,
    SubjectOptions,
    WhoOptions,
)
from rc_hpc.vlm.parse_options import ParseOptions

ASK = "python -m rc_hpc.query_vlm"
EXAMPLES = f"""\
  {ASK} packed.h5 --pictures renders.h5 --arms pixels,coordinates \\
      --base-url http://127.0.0.1:8000/v1 --model my-model -o my-model.h5
                                  a local server (vLLM, llama.cpp, ...): no key is needed
  {ASK} packed.h5 ... -o my-model.h5 --dry-run --prices prices.toml
                                  requests, bytes, rough tokens and cost; nothing is sent
  {ASK} packed.h5 ... -o my-model.h5 --resume
                                  go on where a stopped or killed run was; nothing is paid for twice
  {ASK} eval.jsonl --pictures renders.h5 --arms pixels,question-only --temperature 0.7 ...
                                  records with material_id, crystal_system and their own question
  {ASK} eval_coords.jsonl --arms coordinates --cell stored ...
                                  records whose question holds the coordinates
  {ASK} packed.h5 --provider anthropic --base-url URL --model M --max-tokens 2000 ...
                                  the key is read from $ANTHROPIC_API_KEY
  {ASK} packed.h5 --pictures renders.h5 --arms extraction -o seen.h5 ...
  {ASK} packed.h5 --arms answer-from-text --emitted seen.emitted.json ...
                                  one model extracts the atoms, another answers from them
  {ASK} parse my-model.h5 --parser last-mention -o reread/
                                  read the stored replies by another parser; nothing is sent
  python -m rc_hpc.ladder my-model.predictions/ --census census.h5
  {ASK} package/ --arms image,text,no-image --model M ... -o my-model.h5
                                  the questions of a package of MV-CrystalBench (--set mini: 200)
  python -m rc_hpc.benchmark score my-model.h5 --benchmark package/

  Beside my-model.h5: my-model.journal.jsonl (every reply as it came; keep it),
  my-model.predictions/ (one file an arm, for the ladder), my-model.emitted.json (arm extraction).
  jobs/query_vlm.py is the same command.

arms:
  pixels            the pictures (R4)
  coordinates       the cell as text (R3)
  question-only     nothing: the control
  formula-only      the reduced formula
  extraction        the pictures; the model lists the atoms
  answer-from-text  the atoms that another run extracted, with the true cell parameters
arms of a package:
  image             question, options and pictures
  text              question, options and the structure as text, where a text can ask it
  no-image          question and options alone

Prices are TOML: currency = "USD", then ["model"] with input_per_million and output_per_million.
An endpoint whose certificate a private authority has signed: SSL_CERT_FILE=authority.pem (or
SSL_CERT_DIR) in the environment; certificates are always checked.
USR1, TERM and INT: no new request; answers in flight are waited for; --resume goes on."""


def parser() -> Parser:
    """Argument parser of the asking command."""
    p = Parser(ASK, __doc__, EXAMPLES)
    p.add_options(SubjectOptions, "what is asked about")
    p.add_options(QuestionOptions, "what is asked")
    p.add_options(WhoOptions, "who is asked")
    p.add_options(RequestOptions, "parameters of each request; what is not given is not sent")
    p.add_options(PaceOptions, "pace and patience")
    p.add_options(AskingOptions, "run", output=Path("answers.h5"))
    p.add_config()
    return p


def parse_parser() -> Parser:
    """Argument parser of the action parse."""
    p = Parser(f"{ASK} parse", "Read stored replies again; nothing is sent.", EXAMPLES)
    p.add_options(ParseOptions)
    p.add_config()
    return p


def parsers() -> dict[str, Parser]:
    """Argument parsers by action; an empty name: of asking."""
    return {"": parser(), "parse": parse_parser()}


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_run, sys.argv[1:] if argv is None else list(argv))


def _run(argv: list[str]) -> int:
    if argv[:1] == ["parse"]:
        asked = parse_parser().read(argv[1:])
        return resolve("rc_hpc.vlm.reread:read_again")(asked.make(ParseOptions), asked.make(Talk))
    asked = parser().read(argv)
    query = resolve("rc_hpc.vlm.query:query")
    groups = (SubjectOptions, QueryOptions, AskingOptions, Talk)
    return query(*(asked.make(group) for group in groups))


if __name__ == "__main__":
    sys.exit(main())
