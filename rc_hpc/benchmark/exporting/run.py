"""Write a package for another program: prompts as ours, pictures without names, no answers shown.

What a model sees comes through `rc_hpc.benchmark.prompts` alone. Beside it a sample carries its id,
its arm, its target, and, for the program's own intervals, its stratum and a number in the place of
its base structure.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import rc_hpc
from rc_hpc.benchmark.exporting.options import ExportOptions
from rc_hpc.benchmark.package import IMAGES, MANIFEST, Package, read_manifest, read_package
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
    RcError
        A picture is missing, or is not what the manifest has the hash of; nothing is left then.
    """
    setup_logging(talk)
    package = read_package(options.benchmark, options.set_name)
    folder = options.output.resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"-o {options.output} holds something: name an empty or new folder")
    made = folder.with_name(f".{folder.name}.{os.getpid()}.export")
    tasks = [_task_name(arm) for arm in options.arms]
    with disk_errors(folder):
        made.mkdir(parents=True)
        try:
            n = _written(package, options, tasks, _Folders(made, folder))
            if folder.exists():
                folder.rmdir()  # it is empty
            made.rename(folder)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    if not talk.quiet:
        start = _START[options.program].format(folder=options.output, task=tasks[0])
        print(f"{options.output}: {len(package.questions)} questions, {n} pictures\n  {start}")
        print(f"  python -m rc_hpc.benchmark score RESULTS --benchmark {options.benchmark}")
    return Exit.CLEAN


class _Folders(NamedTuple):
    """Where files are written, and where they will lie when all are."""

    made: Path
    final: Path


def _written(
    package: Package, options: ExportOptions, tasks: Iterable[str], folders: _Folders
) -> int:
    """Write everything; the number of pictures."""
    pictures = _Pictures(package, folders.made)
    for arm, task in zip(options.arms, tasks, strict=True):
        if samples := list(_samples(package, arm, pictures)):
            _WRITERS[options.program](folders, arm, task, samples)
    if (package.root / "LICENSE").is_file():
        shutil.copyfile(package.root / "LICENSE", folders.made / "LICENSE")
    told = {
        "rc_hpc": rc_hpc.__version__,
        "package": package.sha256,
        "set": package.set_name,
        "prompts": VERSION,
        "program": options.program,
    }
    write_whole(folders.made / "export.json", (json.dumps(told, indent=1) + "\n").encode())
    return len(pictures.names)


class _Pictures:
    """Pictures under names that say nothing, each once, and each as the manifest has it.

    Parameters
    ----------
    package
    folder
        Of the export.
    """

    def __init__(self, package: Package, folder: Path):
        self.package, self.folder = package, folder
        self.names: dict[str, str] = {}

    @cached_property
    def manifest(self) -> dict[str, tuple[str, int]]:
        """SHA-256 and size of each file of the package."""
        return read_manifest(self.package.root)

    def name(self, entry: str) -> str:
        """Path below the folder; the file is there."""
        if entry not in self.names:
            self.names[entry] = f"images/{len(self.names) + 1:05d}.png"
            path, target = self.package.picture(entry), self.folder / self.names[entry]
            target.parent.mkdir(exist_ok=True)
            again = "fetch or build the package again"
            if not path.is_file():
                raise RcError(f"{path}: is missing; {again}")
            digest, _ = self.manifest.get(f"{IMAGES}/{entry}", ("", 0))
            if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
                raise RcError(f"{path}: is not what {MANIFEST} has the hash of; {again}")
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


def _lines(folders: _Folders, arm: str, samples: list[dict[str, Any]]) -> Path:
    """Samples as JSON lines, with what both programs take; where the file will lie."""
    kept = [
        {key: value for key, value in sample.items() if key not in ("question", "options")}
        for sample in samples
    ]
    text = "".join(json.dumps(sample, ensure_ascii=False) + "\n" for sample in kept)
    write_whole(folders.made / f"{arm}.jsonl", text.encode())
    return folders.final / f"{arm}.jsonl"


def _inspect(folders: _Folders, arm: str, task: str, samples: list[dict[str, Any]]) -> None:
    _lines(folders, arm, samples)
    write_whole(folders.made / "mv_crystalbench.py", _template("inspect_task").encode())


def _lm_eval(folders: _Folders, arm: str, task: str, samples: list[dict[str, Any]]) -> None:
    path = _lines(folders, arm, samples)
    shown = "doc_to_image: !function utils.doc_to_image\n" if samples[0]["images"] else ""
    text = Template(_template("lm_eval_task")).substitute(
        task=f"mv_crystalbench_{task}", path=json.dumps(str(path)), shown=shown
    )
    write_whole(folders.made / f"mv_crystalbench_{task}.yaml", text.encode())
    write_whole(folders.made / "utils.py", _template("lm_eval_utils").encode())


def _vlmevalkit(folders: _Folders, arm: str, task: str, samples: list[dict[str, Any]]) -> None:
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
            row["image_path"] = json.dumps([str(folders.final / name) for name in sample["images"]])
        table.writerow(row)
    write_whole(folders.made / f"{NAME}_{task}.tsv", sink.getvalue().encode())


_WRITERS: dict[str, Callable[[_Folders, str, str, list[dict[str, Any]]], None]] = {
    "inspect": _inspect,
    "lm-eval": _lm_eval,
    "vlmevalkit": _vlmevalkit,
}


def _template(name: str) -> str:
    """A file of another program that stands with our data."""
    file = resources.files("rc_hpc.benchmark").joinpath(f"data/{name}.txt")
    return file.read_text(encoding="utf-8")
