"""The whole check of a package, and how it is told."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rc_hpc.benchmark.card import card
from rc_hpc.benchmark.checks.again import check_again, other_program
from rc_hpc.benchmark.checks.answers import check_answers
from rc_hpc.benchmark.checks.around import check_around, left_out
from rc_hpc.benchmark.checks.fairness import check_fairness, rule_scores
from rc_hpc.benchmark.checks.files import Files, check_files, unused_pictures
from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.checks.leaks import check_leaks
from rc_hpc.benchmark.checks.letters import check_letters
from rc_hpc.benchmark.checks.options import CheckOptions
from rc_hpc.benchmark.checks.ours import SCENES, Ours, read_ours
from rc_hpc.benchmark.checks.pictures import check_drawn, check_shown
from rc_hpc.benchmark.checks.quotas import check_mini, check_quotas, check_twice, expected
from rc_hpc.benchmark.checks.rebuilt import check_rebuilt
from rc_hpc.benchmark.checks.rows import check_form, check_question
from rc_hpc.benchmark.checks.scenes import check_drawable, check_scenes
from rc_hpc.benchmark.checks.written import check_seen, check_written
from rc_hpc.benchmark.package import MANIFEST, SETS, need_folder, question_of, read_rows
from rc_hpc.benchmark.questions.options import QuestionOptions
from rc_hpc.benchmark.records import STRATA, Question
from rc_hpc.core.door import Talk
from rc_hpc.core.errors import Exit, RcError, UsageError
from rc_hpc.core.files import parts_folder
from rc_hpc.core.text import typed
from rc_hpc.store.parts import begun

#: Settings that say what a package may hold.
RECORDED = (
    *("questions", "per_structure", "per_difficulty", "mini"),
    *("visible_count", "visible_mark"),
)
Rows = list[tuple[Question, dict[str, Any]]]


class Checked(NamedTuple):
    """What a check has found.

    Attributes
    ----------
    findings
        What is wrong.
    notes
        What could not be checked, and which settings are not the card's.
    """

    findings: list[Finding]
    notes: list[str]


def check_package(root: Path) -> list[Finding]:
    """All that is wrong with a package; as `checked`."""
    return checked(root).findings


def checked(root: Path) -> Checked:
    """All that is wrong with a package, and what cannot be told.

    A package with ``scenes.h5`` is made again from it and compared; one without is held to the
    card and to itself.

    Raises
    ------
    UsageError
        It is no folder.
    """
    need_folder(root)
    if not root.is_dir():
        raise UsageError(f"{root}: no folder; give that of a package")
    if why := _unfinished(root):
        return Checked([Finding("unfinished", root.name, why)], [])
    stated = card()
    findings: list[Finding] = []
    notes: list[str] = []
    ours = _ours(root, findings, notes)
    files, faults = check_files(root, ours.display.size if ours else stated.pixels, bool(ours))
    findings += faults
    full, mini = (_rows(root, name, findings) for name in SETS)
    for name in SETS.values():
        if name in files.digests:
            findings += check_written(root / name, bool(ours))
    questions, subset = [q for q, _ in full], [q for q, _ in mini]
    if not questions:
        return Checked(findings, notes)
    options = ours.questions if ours else recorded_options(root)
    want = expected(questions, stated, options)
    for q, row in full:
        findings += check_form(row, q.id)
        findings += check_question(q, root, stated)
        findings += check_seen(q)
    findings += check_twice(questions)
    findings += check_quotas(questions, want, stated)
    findings += check_mini(mini, full, want)
    findings += check_letters(questions, subset, bool(ours))
    findings += check_leaks(questions)
    findings += check_fairness(questions)
    findings += check_answers(questions)
    findings += check_shown(questions, files.pictures)
    shown = {path for q in questions for path in q.image_paths}
    findings += unused_pictures(files.pictures, shown)
    if ours:
        try:
            findings += _made_again(root, questions, subset, ours, files, notes)
        except (LookupError, ValueError, TypeError) as error:
            told = f"does not fit together ({type(error).__name__}: {error}); build it again"
            findings.append(Finding("scenes", SCENES, told))
    elif want.released and len(shown) != stated.images:
        told = f"{len(shown)} different pictures, not {stated.images}"
        findings.append(Finding("pictures", SETS["full"], told))
    return Checked(findings, notes)


def _made_again(
    root: Path,
    questions: Sequence[Question],
    subset: Sequence[Question],
    ours: Ours,
    files: Files,
    notes: list[str],
) -> list[Finding]:
    """What ``scenes.h5`` says against the package, and its structures and pictures against it."""
    findings = []
    if ours.changed:
        told = "was changed since it was written: its content_hash is of other content"
        findings.append(Finding("scenes", SCENES, told))
    findings += check_drawn(ours.drawn, files.pictures, files.of_pictures)
    findings += check_scenes(questions, ours.scenes, ours.bases, ours.questions)
    findings += check_drawable(ours.scenes, ours.display)
    findings += check_rebuilt(questions, ours)
    findings += check_around(root, questions, subset, ours, files.digests)
    notes += left_out(ours)
    if why := other_program(ours):
        notes.append(f"no scene was displayed and no picture drawn again: {why}")
    else:
        findings += check_again(ours)
    return findings


def _unfinished(root: Path) -> str:
    """That the building of a package did not come to its end; empty where it did."""
    if any(os.path.lexists(root / name) for name in (MANIFEST, *SETS.values())):
        return ""
    beside = [root.with_name(f"{root.name}.{word}.h5") for word in ("packed", "displays")]
    files = [root / SCENES, *beside]
    if not any(one.is_file() or begun(parts_folder(one)) for one in files):
        return ""
    return (
        "is not finished: the command that began it, with --resume, goes on (python -m "
        f"rc_hpc.benchmark build SOURCE -o {typed(root)} --resume, with its source and options)"
    )


def _ours(root: Path, findings: list[Finding], notes: list[str]) -> Ours | None:
    """What the package can be made again from; None where it lacks that, or it is broken."""
    if not os.path.lexists(root / SCENES):
        if str(_manifest(root).get("creator", "")).startswith("rc_hpc"):
            told = "is not there; every package that rc_hpc builds has one"
            findings.append(Finding("file-missing", SCENES, told))
        notes.append(
            f"there is no {SCENES}: whether pictures, counts of atoms and directions are those of "
            "the structures, and what is visible, is not checked"
        )
        return None
    try:
        return read_ours(root / SCENES)
    except RcError as error:
        findings.append(Finding("scenes", SCENES, f"cannot be read: {error}"))
        notes.append(f"{SCENES} cannot be read: nothing was made again from it")
        return None


def _manifest(root: Path) -> dict[str, Any]:
    try:
        content = json.loads((root / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def recorded_options(root: Path) -> QuestionOptions:
    """Settings of the questions that the manifest of a package of ours tells; else the card's."""
    found: dict[str, Any] = {}
    waiting = [_manifest(root).get("settings")]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            found |= {k: v for k, v in one.items() if k in RECORDED and isinstance(v, int | float)}
            waiting += list(one.values())
    return QuestionOptions(**found)


def _rows(root: Path, name: str, findings: list[Finding]) -> Rows:
    """Questions of one file with their rows; what cannot be read is a finding."""
    path, found = root / SETS[name], []
    if not path.is_file():
        return []
    lines = _lines(path, findings)
    for number, row in lines:
        try:
            found.append((question_of(row, f"line {number}"), row))
        except RcError as error:
            findings.append(Finding("row", SETS[name], str(error)))
    if not found:
        findings.append(Finding("rows", SETS[name], "holds no question"))
    return found


def _lines(path: Path, findings: list[Finding]) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        yield from read_rows(path)
    except RcError as error:
        findings.append(Finding("row", path.name, str(error)))


def floors(root: Path) -> str:
    """What each rule of thumb names right, by stratum, as lines of a table."""
    path = root / SETS["full"]
    questions = [question_of(row, f"line {n}") for n, row in read_rows(path)]
    lines = []
    for stratum in STRATA:
        own = [q for q in questions if q.stratum == stratum]
        if own:
            scores = rule_scores(own)
            told = ", ".join(f"{rule} {share:.2f}" for rule, share in scores.items())
            lines.append(f"{stratum} (n = {len(own)}): {told}")
    return "\n".join(lines)


def text(findings: list[Finding], most: int, notes: Sequence[str] = ()) -> str:
    """Findings, one a line, so many of each rule; what is no finding; how many there are."""
    told: Counter[str] = Counter()
    lines = []
    for one in findings:
        told[one.rule] += 1
        if told[one.rule] <= most:
            lines.append(str(one))
    more = {rule: n - most for rule, n in told.items() if n > most}
    lines += [f"and {n} more of {rule}" for rule, n in more.items()]
    lines += [f"note: {one}" for one in notes]
    lines.append(f"{len(findings)} findings" if findings else "nothing found")
    return "\n".join(lines)


def run(options: CheckOptions, talk: Talk) -> int:
    """Check a package and tell the findings; 0, 3 with findings, 1 where they are an error."""
    findings, notes = checked(options.package)
    if not talk.quiet:
        print(text(findings, options.most, notes))
        if options.floors and (options.package / SETS["full"]).is_file():
            print(floors(options.package))
    if not findings:
        return int(Exit.CLEAN)
    return int(Exit.FATAL if options.strict else Exit.FAILURES)
