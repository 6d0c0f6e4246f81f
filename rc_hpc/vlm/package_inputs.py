"""What a model is asked of a package of the benchmark; see `rc_hpc.vlm.questions.Questionnaire`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

from rc_hpc.benchmark.card import card
from rc_hpc.benchmark.package import MANIFEST, SETS, Package, read_manifest, read_package
from rc_hpc.benchmark.prompts import VERSION, prompt_text, prompt_view
from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.files import read_regular
from rc_hpc.images.files import LARGEST_FILE
from rc_hpc.vlm.inputs import chosen
from rc_hpc.vlm.options import SubjectOptions
from rc_hpc.vlm.questions import PictureFile, Question, scattered
from rc_hpc.vlm.records import Subject

#: Options that say something of crystals.
_OF_CRYSTALS = ("pictures", "structures", "image_root", "emitted", "cell", "prompt", "truth")


@dataclass
class PackageInputs:
    """Questions of a package.

    Attributes
    ----------
    package
    subjects
        Its questions, or those that --ids and --limit leave.
    record
        The options that it was made from.
    """

    package: Package
    subjects: list[Subject]
    record: dict
    left_out: int = 0

    @cached_property
    def identity(self) -> dict:
        """What replies of one journal have in common: both sets of a package may share one."""
        whole = self.package.root / SETS["full"]
        digest = self.package.sha256
        if whole.is_file():
            digest = hashlib.sha256(whole.read_bytes()).hexdigest()
        return {"package": digest, "prompts": VERSION}

    def formula(self, id_: str) -> str:
        """Nothing: the answers say nothing of the structure."""
        return ""

    def shown(self, arm: str) -> tuple[str, str]:
        """No cell is named, and no convention."""
        return "none", ""

    def questions(self, arms: Sequence[str]) -> list[Question]:
        """Questions of all subjects in all arms that can ask them, scattered."""
        ids = scattered([subject.id for subject in self.subjects])
        asked = [self._question(id_, arm) for id_ in ids for arm in arms]
        return [question for question in asked if question is not None]

    def _question(self, id_: str, arm: str) -> Question | None:
        view = prompt_view(self.package.by_id[id_], arm)
        if view is None:
            return None
        pictures = tuple(map(self._picture, view.pictures))
        return Question(id_, arm, prompt_text(view), VERSION, pictures)

    def _picture(self, entry: str) -> PictureFile:
        if entry not in self._pictures:
            self._pictures[entry] = self._hashed(entry)
        return self._pictures[entry]

    def _hashed(self, entry: str) -> PictureFile:
        path = self.package.picture(entry)
        try:
            data = read_regular(path, LARGEST_FILE)
        except OSError as error:
            raise RcError(
                f"{path}: cannot be read ({error.strerror}); fetch or build the package again"
            ) from error
        digest = hashlib.sha256(data).hexdigest()
        if self._stated and self._stated.get(f"images/{entry}", ("", 0))[0] != digest:
            raise RcError(
                f"{path}: is not the picture that {MANIFEST} states; fetch or build the package "
                "again (python -m rc_hpc.benchmark check tells what else differs)"
            )
        return PictureFile(path, digest, len(data), card().pixels ** 2)

    @cached_property
    def _pictures(self) -> dict[str, PictureFile]:
        return {}

    @cached_property
    def _stated(self) -> dict[str, tuple[str, int]]:
        there = (self.package.root / MANIFEST).is_file()
        return read_manifest(self.package.root) if there else {}


def open_package(options: SubjectOptions) -> PackageInputs:
    """The package that the options name.

    Raises
    ------
    RcError
        It cannot be read, or an option goes with crystals only.
    """
    usual = {one.name: one.default for one in fields(SubjectOptions)}
    for name in _OF_CRYSTALS:
        if getattr(options, name) != usual[name]:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} is for crystals: {options.source} is a package")
    package = read_package(options.source, options.set_name)
    subjects = [
        Subject(one.id, one.answer, choices=tuple(one.options.values()))
        for one in package.questions
    ]
    return PackageInputs(package, chosen(subjects, options), options.to_dict())
