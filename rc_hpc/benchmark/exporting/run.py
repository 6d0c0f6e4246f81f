"""Write a package for another program: prompts as ours, pictures without names, no answers shown.

What a model sees comes through `rc_hpc.benchmark.prompts` alone. Beside it a sample carries its id,
its arm, its target, and, for the program's own intervals, its stratum and a number in the place of
its base structure.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import rc_hpc
from rc_hpc.benchmark.exporting.options import ExportOptions
from rc_hpc.benchmark.package import Package, read_package
from rc_hpc.benchmark.prompts import VERSION, attachment_text, prompt_text, prompt_view
from rc_hpc.core.door import Talk, setup_logging
from rc_hpc.core.errors import Exit, RcError, UsageError
from rc_hpc.core.files import disk_errors, write_whole

#: Name of the benchmark in names of tasks and files.
NAME = "MV-CrystalBench"
#: How the programs are started, for the last line of the command.
_START = {
    "inspect": "inspect eval {folder}/mv_crystalbench.py@{task} --model MODEL",
    "lm-eval": "lm_eval --include_path {folder} --tasks mv_crystalbench_{task} --log_samples "
    "--output_path results --model MODEL ...",
    "vlmevalkit": "LMUData={folder} python run.py --data " + NAME + "_{task} --model MODEL",
}


def run(options: ExportOptions, talk: Talk) -> int:
    """Write the files of a program.

    Raises
    ------
    UsageError
        The folder holds something.
    """
    setup_logging(talk)
    package = read_package(options.benchmark, options.set_name)
    folder = options.output.resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"-o {options.output} holds something: name an empty or new folder")
    pictures = _Pictures(package, folder)
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        tasks = [_task_name(arm) for arm in options.arms]
        for arm, task in zip(options.arms, tasks, strict=True):
            if samples := list(_samples(package, arm, pictures)):
                _WRITERS[options.program](folder, arm, task, samples)
        if (package.root / "LICENSE").is_file():
            shutil.copyfile(package.root / "LICENSE", folder / "LICENSE")
        told = {
            "rc_hpc": rc_hpc.__version__,
            "package": package.sha256,
            "set": package.set_name,
            "prompts": VERSION,
            "program": options.program,
        }
        write_whole(folder / "export.json", (json.dumps(told, indent=1) + "\n").encode())
    if not talk.quiet:
        start = _START[options.program].format(folder=options.output, task=tasks[0])
        n = len(pictures.names)
        print(f"{options.output}: {len(package.questions)} questions, {n} pictures\n  {start}")
        print(f"  python -m rc_hpc.benchmark score RESULTS --benchmark {options.benchmark}")
    return Exit.CLEAN


class _Pictures:
    """Pictures under names that say nothing, each once.

    Parameters
    ----------
    package
    folder
        Of the export.
    """

    def __init__(self, package: Package, folder: Path):
        self.package, self.folder = package, folder
        self.names: dict[str, str] = {}

    def name(self, entry: str) -> str:
        """Path below the folder; the file is there."""
        if entry not in self.names:
            self.names[entry] = f"images/{len(self.names) + 1:05d}.png"
            path, target = self.package.picture(entry), self.folder / self.names[entry]
            target.parent.mkdir(exist_ok=True)
            if not path.is_file():
                raise RcError(f"{path}: is missing; fetch or build the package again")
            try:
                os.link(path, target)
            except OSError:  # another disk, or one without links
                shutil.copyfile(path, target)
        return self.names[entry]


def _task_name(arm: str) -> str:
    """An arm as the name of a function."""
    return arm.replace("-", "_")


def _samples(package: Package, arm: str, pictures: _Pictures) -> Iterator[dict[str, Any]]:
    clusters = sorted({question.cluster for question in package.questions})
    for question in package.questions:
        view = prompt_view(question, arm)
        if view is not None:
            yield {
                "id": question.id,
                "arm": arm,
                "stratum": question.stratum,
                "cluster": clusters.index(question.cluster),
                "prompt": prompt_text(view),
                "images": [pictures.name(entry) for entry in view.pictures],
                "target": question.answer,
                "question": f"{view.question.strip()}\n\n{attachment_text(view)}",
                "options": dict(view.options),
            }


def _lines(folder: Path, arm: str, samples: list[dict[str, Any]]) -> Path:
    """Samples as JSON lines, with what both programs take."""
    kept = [
        {key: value for key, value in sample.items() if key not in ("question", "options")}
        for sample in samples
    ]
    path = folder / f"{arm}.jsonl"
    text = "".join(json.dumps(sample, ensure_ascii=False) + "\n" for sample in kept)
    write_whole(path, text.encode())
    return path


def _inspect(folder: Path, arm: str, task: str, samples: list[dict[str, Any]]) -> None:
    _lines(folder, arm, samples)
    write_whole(folder / "mv_crystalbench.py", _template("inspect_task").encode())


def _lm_eval(folder: Path, arm: str, task: str, samples: list[dict[str, Any]]) -> None:
    path = _lines(folder, arm, samples)
    shown = "doc_to_image: !function utils.doc_to_image\n" if samples[0]["images"] else ""
    text = Template(_template("lm_eval_task")).substitute(
        task=f"mv_crystalbench_{task}", path=json.dumps(str(path)), shown=shown
    )
    write_whole(folder / f"mv_crystalbench_{task}.yaml", text.encode())
    write_whole(folder / "utils.py", _template("lm_eval_utils").encode())


def _vlmevalkit(folder: Path, arm: str, task: str, samples: list[dict[str, Any]]) -> None:
    """One table; it makes its own prompt of question and options."""
    sink = io.StringIO()
    titles = ["index", "id", "arm", "category", "split", "question", *"ABCD", "answer"]
    titles += ["image_path"] * bool(samples[0]["images"])
    table = csv.DictWriter(sink, titles, delimiter="\t", lineterminator="\n")
    table.writeheader()
    for index, sample in enumerate(samples):
        row = {
            "index": index,
            "id": sample["id"],
            "arm": arm,
            "category": sample["stratum"],
            "split": "test",
            "question": sample["question"],
            **sample["options"],
            "answer": sample["target"],
        }
        if sample["images"]:
            row["image_path"] = json.dumps([str(folder / name) for name in sample["images"]])
        table.writerow(row)
    write_whole(folder / f"{NAME}_{task}.tsv", sink.getvalue().encode())


_WRITERS: dict[str, Callable[[Path, str, str, list[dict[str, Any]]], None]] = {
    "inspect": _inspect,
    "lm-eval": _lm_eval,
    "vlmevalkit": _vlmevalkit,
}


def _template(name: str) -> str:
    """A file of another program that stands with our data."""
    file = resources.files("rc_hpc.benchmark").joinpath(f"data/{name}.txt")
    return file.read_text(encoding="utf-8")
