"""Draw the page: a question of each stratum, its pictures, its options, the right one marked."""

from __future__ import annotations

import hashlib
import io
import textwrap
from typing import TYPE_CHECKING

from rc_hpc.benchmark.package import Package, read_package
from rc_hpc.benchmark.records import STRATA, Question
from rc_hpc.benchmark.sampling.options import SampleOptions
from rc_hpc.core.door import Talk, setup_logging
from rc_hpc.core.errors import Exit, RcError
from rc_hpc.report import style
from rc_hpc.report.plot import FORMATS
from rc_hpc.report.tables import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

#: Height of a group of pictures and of a line of words, in, and characters of a line.
PICTURES_IN, LINE_IN, WRAP = 2.3, 0.125, 125
#: Dots per inch of the page: a picture of 512 px stays sharp.
DPI = 300


def run(options: SampleOptions, talk: Talk) -> int:
    """Write the page as PDF and PNG."""
    setup_logging(talk)
    package = read_package(options.benchmark, options.set_name)
    chosen = choose(package, options.seed)
    with style.styled():
        page = draw(package, chosen)
        for ending in FORMATS:
            path = options.output / f"samples.{ending}"
            write_bytes(path, _saved(page, ending))
            if not talk.quiet:
                print(f"{path}: {', '.join(question.id for question in chosen)}")
    return Exit.CLEAN


def choose(package: Package, seed: int) -> list[Question]:
    """A question of each stratum that there is, by the hash of seed and id."""

    def luck(question: Question) -> bytes:
        return hashlib.sha256(f"{seed} {question.id}".encode()).digest()

    by_stratum = {
        stratum: [one for one in package.questions if one.stratum == stratum] for stratum in STRATA
    }
    return [min(among, key=luck) for among in by_stratum.values() if among]


def draw(package: Package, questions: list[Question]) -> Figure:
    """The page."""
    from matplotlib.figure import Figure

    heights = [
        PICTURES_IN * len(one.groups) + LINE_IN * (len(_words(one)) + 2) for one in questions
    ]
    page = Figure(figsize=(style.PAGE_IN, sum(heights)))
    parts = page.subfigures(len(questions), 1, squeeze=False, height_ratios=heights).ravel()
    for part, question in zip(parts, questions, strict=True):
        _question(part, package, question)
    return page


def _words(question: Question) -> list[str]:
    """The question and its options, the right one marked, as lines."""
    lines = textwrap.wrap(question.question, WRAP)
    options = [
        line
        for letter, text in question.options.items()
        for line in textwrap.wrap(
            f"{letter}. {text}" + "  ✓" * (letter == question.answer),
            WRAP,
            subsequent_indent="    ",
        )
    ]
    return [*lines, *options]


def _question(part: SubFigure, package: Package, question: Question) -> None:
    """Pictures above, words below."""
    lines = _words(question)
    height = part.bbox.height / part.figure.dpi
    top, bottom = 1 - 1.6 * LINE_IN / height, LINE_IN * (len(lines) + 1) / height
    n_groups, n = len(question.groups), len(question.groups[0])
    shown = part.add_gridspec(
        n_groups, n, left=0.02, right=0.98, top=top, bottom=bottom, wspace=0.03, hspace=0.03
    )
    for row, group in enumerate(question.groups):
        for column, entry in enumerate(group):
            ax = part.add_subplot(shown[row, column])
            ax.imshow(_picture(package, entry), interpolation="lanczos")
            ax.set_axis_off()
    title = f"{question.stratum.replace('_', ' ')}   {question.id}"
    part.text(0.02, 1 - 0.4 * LINE_IN / height, title, fontsize=7, weight="bold", va="top")
    part.text(0.02, bottom, "\n".join(lines), fontsize=7, va="top", linespacing=1.15)


def _picture(package: Package, entry: str):
    from matplotlib.image import imread

    path = package.picture(entry)
    try:
        return imread(path)
    except (OSError, SyntaxError) as error:
        raise RcError(
            f"{path}: is no picture that can be read ({error}); fetch or build the package again"
        ) from error


def _saved(page: Figure, ending: str) -> bytes:
    # no dates and no versions: equal packages give equal pages
    metadata = {
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        "png": {"Software": None},
    }
    sink = io.BytesIO()
    page.savefig(sink, format=ending, metadata=metadata[ending], dpi=DPI)
    return sink.getvalue()
