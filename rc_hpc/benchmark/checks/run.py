"""The whole check of a package, and how it is told."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rc_hpc.benchmark.card import card
from rc_hpc.benchmark.checks.answers import check_answers
from rc_hpc.benchmark.checks.fairness import check_fairness, rule_scores
from rc_hpc.benchmark.checks.files import check_files, unused_pictures
from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.checks.leaks import check_leaks
from rc_hpc.benchmark.checks.options import CheckOptions
from rc_hpc.benchmark.checks.quotas import check_mini, check_quotas, check_twice, expected
from rc_hpc.benchmark.checks.rows import check_form, check_question
from rc_hpc.benchmark.checks.scenes import check_scenes
from rc_hpc.benchmark.package import MANIFEST, SETS, question_of, read_rows
from rc_hpc.benchmark.questions.options import QuestionOptions
from rc_hpc.benchmark.records import STRATA, Question
from rc_hpc.benchmark.scene_file import read_bases, read_scenes
from rc_hpc.core.door import Talk
from rc_hpc.core.errors import Exit, RcError, UsageError

#: Settings that say what a package may hold.
RECORDED = (
    *("questions", "per_structure", "per_difficulty", "mini"),
    *("visible_count", "visible_mark"),
)
Rows = list[tuple[Question, dict[str, Any]]]


#: Cameras and displayed atoms, which the released package lacks.
SCENES = "scenes.h5"


def check_package(root: Path) -> list[Finding]:
    """All that is wrong with a package.

    Raises
    ------
    UsageError
        It is no folder.
    """
    if not root.is_dir():
        raise UsageError(f"{root}: no folder; give that of a package")
    stated = card()
    findings = list(check_files(root, stated.pixels))
    full, mini = (_rows(root, name, findings) for name in SETS)
    questions = [q for q, _ in full]
    if not questions:
        return findings
    options = recorded_options(root)
    want = expected(questions, stated, options)
    for q, row in full:
        findings += check_form(row, q.id)
        findings += check_question(q, root, stated)
    findings += check_twice(questions)
    findings += check_quotas(questions, want, stated)
    findings += check_mini(mini, full, want)
    findings += check_leaks(questions)
    findings += check_fairness(questions)
    findings += check_answers(questions)
    if (root / SCENES).is_file():
        findings += _scenes(root / SCENES, questions, options)
    shown = {path for q in questions for path in q.image_paths}
    findings += unused_pictures(root, shown)
    if want.released and not (root / SCENES).exists() and len(shown) != stated.images:
        told = f"{len(shown)} different pictures, not {stated.images}"
        findings.append(Finding("pictures", SETS["full"], told))
    return findings


def _scenes(path: Path, questions: list[Question], options: QuestionOptions) -> list[Finding]:
    try:
        scenes = {scene.id: scene for scene in read_scenes(path)}
        bases = {base.name: base for base in read_bases(path)}
    except (RcError, OSError) as error:
        return [Finding("scenes", SCENES, f"cannot be read: {error}")]
    return list(check_scenes(questions, scenes, bases, options))


def recorded_options(root: Path) -> QuestionOptions:
    """Settings of the questions that the manifest of a package of ours tells; else the card's."""
    try:
        content = json.loads((root / MANIFEST).read_bytes())
    except (OSError, ValueError):
        content = {}
    found: dict[str, Any] = {}
    waiting = [content.get("settings")] if isinstance(content, dict) else []
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


def text(findings: list[Finding], most: int) -> str:
    """Findings, one a line, so many of each rule; then how many of which."""
    told: Counter[str] = Counter()
    lines = []
    for one in findings:
        told[one.rule] += 1
        if told[one.rule] <= most:
            lines.append(str(one))
    more = {rule: n - most for rule, n in told.items() if n > most}
    lines += [f"and {n} more of {rule}" for rule, n in more.items()]
    lines.append(f"{len(findings)} findings" if findings else "nothing found")
    return "\n".join(lines)


def run(options: CheckOptions, talk: Talk) -> int:
    """Check a package and tell the findings; 0, 3 with findings, 1 where they are an error."""
    findings = check_package(options.package)
    if not talk.quiet:
        print(text(findings, options.most))
        if options.floors:
            print(floors(options.package))
    if not findings:
        return int(Exit.CLEAN)
    return int(Exit.FATAL if options.strict else Exit.FAILURES)
