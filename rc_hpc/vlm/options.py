"""Options of asking models."""

from __future__ import annotations

from argparse import ArgumentTypeError
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rc_hpc.answers.parsers import PARSERS
from rc_hpc.answers.task import ARMS
from rc_hpc.benchmark.letters import ARMS as LETTER_ARMS
from rc_hpc.benchmark.letters import FOUR_LETTERS
from rc_hpc.benchmark.package import SETS
from rc_hpc.core.errors import UsageError
from rc_hpc.core.ids import IDS
from rc_hpc.core.options import Options, at_least, opt
from rc_hpc.core.text import parse_json
from rc_hpc.core.vocabulary import TRUTHS
from rc_hpc.engine.options import HDF5, WorkOptions

#: Cells of the arm coordinates; the first is drawn.
CELLS = ("conventional", "stored")
#: Whose questions are asked: a record's own where it has one that fits, or always rc_hpc's.
PROMPTS = ("own", "shipped")
#: Dialects; see `rc_hpc.vlm.endpoints`.
PROVIDERS = ("openai", "anthropic")


def arms(text: str) -> tuple[str, ...]:
    """Comma-separated arms, each once.

    Raises
    ------
    ArgumentTypeError
        One is not known.
    """
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    known = (*ARMS, *LETTER_ARMS)
    if unknown := [name for name in names if name not in known]:
        raise ArgumentTypeError(f"unknown arm {unknown[0]!r}; known are {', '.join(known)}")
    return names


def json_object(text: str) -> dict:
    """A JSON object.

    Raises
    ------
    ArgumentTypeError
    """
    try:
        value = parse_json(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not valid JSON ({error})") from error
    if not isinstance(value, dict):
        raise ArgumentTypeError(f"{text!r} is no JSON object")
    return value


def word_or_object(text: str) -> str | dict:
    """A word as it is, or a JSON object."""
    return json_object(text) if text.lstrip().startswith("{") else text


def _positive(flag: str, value: float) -> None:
    if not 0 < value < float("inf"):
        raise UsageError(f"{flag} {value:g}: give a number above 0")


def _not_negative(flag: str, value: float) -> None:
    if not 0 <= value < float("inf"):
        raise UsageError(f"{flag} {value:g}: give a number from 0 on")


def _file(help: str, metavar: str = "FILE", told: str | None = None) -> Any:
    return opt(None, help, parse=Path, metavar=metavar, told=told, recorded=False)


def _most(help: str, metavar: str) -> Any:
    return opt(None, help, parse=float, metavar=metavar, check=_positive, recorded=False)


def _seconds(default: float, help: str) -> Any:
    told = f"{default:g} s"
    return opt(default, help, metavar="S", told=told, check=_positive, recorded=False)


@dataclass(frozen=True)
class SubjectOptions(Options):
    """What is asked about.

    Attributes
    ----------
    source
        Packed file, JSON lines, or the folder of a package of the benchmark.
    pictures
        Render manifest.
    structures
        Packed file with the cells, where the source is JSON lines.
    image_root
        Folder below which records name their pictures.
    emitted
        Atoms that the arm extraction wrote.
    cell
        Cell of the arm coordinates; None: conventional, where the source leaves that open.
    prompt
        One of `PROMPTS`.
    truth
        The cell whose label counts as true, where the source is packed.
    set_name
        Set of a package.
    ids, limit
        Only these ids, and only so many of them.
    """

    source: Path = opt(
        None,
        "packed HDF5 file (python -m rc_hpc.pack), or JSON lines with material_id, "
        "crystal_system, question, images, or the folder of a package of MV-CrystalBench",
        parse=Path,
        metavar="SOURCE",
        positional=True,
        required=True,
        recorded=False,
    )
    pictures: Path | None = _file("render manifest (python -m rc_hpc.render)")
    structures: Path | None = _file("packed file with the cells, where SOURCE is JSON lines")
    image_root: Path | None = _file(
        "folder below which records name their images", "DIR", "that of SOURCE"
    )
    emitted: Path | None = _file("atoms that the arm extraction wrote, for answer-from-text")
    cell: str | None = opt(
        None,
        "cell of the arm coordinates: the one that is drawn, or the one that was read",
        choices=CELLS,
        told=CELLS[0],
    )
    prompt: str = opt(
        PROMPTS[0],
        "own: a record's own question where it has one that fits the arm; shipped: always rc_hpc's",
        choices=PROMPTS,
    )
    truth: str = opt(
        TRUTHS[0],
        "the cell whose label counts as true, where SOURCE is packed",
        choices=TRUTHS,
    )
    set_name: str = opt("full", "which questions of a package", name="set", choices=tuple(SETS))
    ids: str | None = opt(None, IDS, metavar="IDS|FILE", recorded=False)
    limit: int | None = opt(
        None,
        "only N structures, scattered over the input",
        parse=int,
        metavar="N",
        check=at_least(1),
        recorded=False,
    )


@dataclass(frozen=True)
class QuestionOptions(Options):
    """What the model is shown of each subject, and how often it is asked.

    Attributes
    ----------
    arms, samples
        Nothing and None: as is usual for what is asked about, see `settled`.
    """

    arms: tuple[str, ...] = opt(
        (),
        "what the model is shown",
        parse=arms,
        metavar="ARM,ARM",
        told=f"{ARMS[0]}; of a package {','.join(LETTER_ARMS)}",
    )
    samples: int = opt(
        None,
        "independent samples of each question",
        parse=int,
        metavar="K",
        told="3; of a package 1",
        check=at_least(1),
    )

    def settled(self, arms: tuple[str, ...], samples: int) -> QuestionOptions:
        """The same, with these arms and samples where none were asked for."""
        return replace(self, arms=self.arms or arms, samples=self.samples or samples)


@dataclass(frozen=True)
class WhoOptions(Options):
    """Who is asked.

    Attributes
    ----------
    model
        As the endpoint calls it.
    base_url
        Of the API; None: that of the environment.
    provider
        One of `PROVIDERS`.
    api_key_env
        Environment variable with the key; None: the provider's.
    """

    model: str | None = opt(None, "as the endpoint calls it", metavar="NAME")
    base_url: str | None = opt(
        None,
        "of the API, usually ending in /v1",
        metavar="URL",
        told="$OPENAI_BASE_URL or $ANTHROPIC_BASE_URL",
        recorded=False,
    )
    provider: str = opt(
        PROVIDERS[0],
        "dialect: chat completions (most servers), or Anthropic's messages",
        choices=PROVIDERS,
    )
    api_key_env: str | None = opt(
        None,
        "environment variable with the key; a key is never an argument",
        metavar="NAME",
        told="OPENAI_API_KEY or ANTHROPIC_API_KEY",
        recorded=False,
    )


@dataclass(frozen=True)
class RequestOptions(Options):
    """Parameters of each request; what is not given is not sent."""

    temperature: float | None = opt(
        None, "of the sampling", parse=float, metavar="T", check=_not_negative
    )
    max_tokens: int | None = opt(None, "of a reply", parse=int, metavar="N", check=at_least(1))
    max_completion_tokens: int | None = opt(
        None,
        "the name that newer OpenAI models take instead",
        parse=int,
        metavar="N",
        check=at_least(1),
    )
    reasoning: str | dict | None = opt(
        None,
        "an effort (low, high, ...), or the provider's object",
        parse=word_or_object,
        metavar="WORD|JSON",
        hashed=False,
    )
    extra: dict | None = opt(
        None,
        "further fields, such as the provider pin of an aggregator",
        parse=json_object,
        metavar="JSON",
        hashed=False,
    )

    def __post_init__(self):
        super().__post_init__()
        if self.max_tokens and self.max_completion_tokens:
            raise UsageError(
                "--max-tokens and --max-completion-tokens are two names of one thing: "
                "give the one that the endpoint takes"
            )


@dataclass(frozen=True)
class PaceOptions(Options):
    """Pace and patience.

    Attributes
    ----------
    concurrency
        Requests at once at most.
    rpm, tpm
        Requests and tokens a minute at most; None: no limit.
    attempts
        Attempts of a request.
    connect_timeout, read_timeout, max_wait, grace
        In s.
    max_answer
        In MB.
    prices
        TOML of prices.
    max_spend
        Stop at this cost of a run.
    """

    concurrency: int = opt(
        16,
        "requests at once at most; fewer while the endpoint complains",
        metavar="N",
        check=at_least(1),
        recorded=False,
    )
    rpm: float | None = _most("requests a minute at most", "N")
    tpm: float | None = _most("tokens a minute at most", "N")
    attempts: int = opt(8, "attempts of a request", metavar="N", check=at_least(1), recorded=False)
    connect_timeout: float = _seconds(30.0, "longest wait for a connection")
    read_timeout: float = _seconds(
        600.0, "longest silence within an attempt (blanks are silence); the whole has no limit"
    )
    max_wait: float = _seconds(600.0, "stop if the endpoint asks to wait longer")
    max_answer: float = opt(
        8.0,
        "largest answer, unpacked; a larger one is a recorded failure",
        metavar="MB",
        check=_positive,
        recorded=False,
    )
    grace: float = _seconds(90.0, "after a signal, wait so long for answers in flight")
    prices: Path | None = _file(
        "TOML of prices; without one cost is known only where the endpoint tells it"
    )
    max_spend: float | None = _most("stop when this run has cost so much", "X")


@dataclass(frozen=True)
class QueryOptions(Options):
    """How a model is asked, whatever it is asked about."""

    questions: QuestionOptions = QuestionOptions()
    who: WhoOptions = WhoOptions()
    request: RequestOptions = RequestOptions()
    pace: PaceOptions = PaceOptions()


@dataclass(frozen=True)
class AskingOptions(WorkOptions):
    """How a run goes about its work.

    Attributes
    ----------
    resume, overwrite
        Go on with earlier replies, or set them aside.
    parser
        Of the prediction files; None: the task's own.
    retry_failed
        With `resume`: ask again also what the endpoint rejected.
    dry_run
        Only say what would be asked.
    """

    resume: bool = opt(
        False,
        "go on with earlier replies; requests that were given up are asked again",
        kept=False,
        recorded=False,
    )
    overwrite: bool = opt(
        False,
        "start anew; earlier replies are set aside, not removed",
        kept=False,
        recorded=False,
    )
    parser: str | None = opt(
        None,
        "of the prediction files; the HDF5 file holds every parser's reading",
        choices=(*PARSERS, *FOUR_LETTERS.parsers),
        told=f"{PARSERS[0]}; of a package {FOUR_LETTERS.parser}",
        recorded=False,
    )
    retry_failed: bool = opt(
        False,
        "with --resume: ask again also what the endpoint rejected",
        kept=False,
        recorded=False,
    )
    dry_run: bool = opt(
        False, "say what would be asked; nothing is sent", kept=False, recorded=False
    )

    def __post_init__(self):
        super().__post_init__()
        if self.retry_failed and not self.resume:
            raise UsageError("--retry-failed goes with --resume")
        if self.output.suffix not in HDF5:
            raise UsageError(f"-o {self.output}: its name must end in {' or '.join(HDF5)}")
