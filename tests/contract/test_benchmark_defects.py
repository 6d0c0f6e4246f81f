"""Packages of ours with one thing wrong, hashes rewritten to fit: the check names each."""

import hashlib
import json
import os
import shutil
from collections import Counter

import h5py
import numpy as np
import pytest
from PIL import Image

from rc_hpc.benchmark.__main__ import main
from rc_hpc.benchmark.checks import again
from rc_hpc.benchmark.checks.run import check_package, checked
from rc_hpc.benchmark.package import MANIFEST, SETS
from rc_hpc.benchmark.records import LETTERS
from rc_hpc.images.files import encode_png

pytestmark = pytest.mark.long

NAMES = ("fluorite", "nickel arsenide", "AlCl3", "marcasite", "rutile", "alpha quartz")
ASKED = ["--questions", "64", "--mini", "4", "--per-structure", "8", "--per-difficulty", "8"]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """64 questions on six structures."""
    folder = tmp_path_factory.mktemp("bench")
    (folder / "ids.txt").write_text("\n".join(NAMES))
    asked = ["catalogue", "--ids", str(folder / "ids.txt"), "--supercells", "2", *ASKED]
    assert main(["build", *asked, "-o", str(folder / "b"), "--progress", "none", "-q"]) == 0
    return folder / "b"


class Broken:
    """A copy of a package that a defect changes; rows of both sets are changed alike."""

    def __init__(self, package, root):
        shutil.copytree(package, root, copy_function=os.link)
        self.root = root
        self.full, mini = (
            [json.loads(line) for line in (root / name).read_text().splitlines()]
            for name in SETS.values()
        )
        self.mini = [row["id"] for row in mini]

    def of(self, qtype, number=0):
        return [row for row in self.full if row["qtype"] == qtype][number]

    def picture(self, qtype, number=0, view=0):
        return f"images/{self.of(qtype, number)['image_paths'][view]}"

    def read(self, name):
        return (self.root / name).read_bytes()

    def write(self, name, content):
        path = self.root / name
        path.unlink(missing_ok=True)  # it may be a second name of the package's file
        path.write_bytes(content)

    def exchange(self, one, other):
        mine, its = self.read(one), self.read(other)
        self.write(one, its)
        self.write(other, mine)

    def close(self):
        """Write rows and hashes anew."""
        rows = {row["id"]: row for row in self.full}
        chosen = (self.full, [rows[name] for name in self.mini if name in rows])
        for name, own in zip(SETS.values(), chosen, strict=True):
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in own)
            self.write(name, text.encode())
        self.hash()

    def hash(self):
        manifest = json.loads(self.read(MANIFEST))
        for name in list(manifest["files"]):
            if (self.root / name).is_file():
                content = self.read(name)
                digest = hashlib.sha256(content).hexdigest()
                manifest["files"][name] = {"sha256": digest, "bytes": len(content)}
            else:
                del manifest["files"][name]
        self.write(MANIFEST, (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode())


def test_nothing_is_found_on_ours(package):
    found = checked(package)
    assert ([str(one) for one in found.findings], found.notes) == ([], [])


def pictures_of_two_scenes(b):
    one = b.picture("Q1a")
    other = next(f"images/{row['image_paths'][0]}" for row in b.full if row["qtype"] == "Q6")
    b.exchange(one, other)


def pictures_of_two_views(b):
    b.exchange(b.picture("Q1a"), b.picture("Q1a", view=1))


def one_pixel(b):
    with Image.open(b.root / b.picture("Q4")) as image:
        pixels = np.array(image)
    pixels[5, 5, 2] = 254
    b.write(b.picture("Q4"), encode_png(pixels))


def other_bytes(b):
    with Image.open(b.root / b.picture("Q4")) as image:
        image.load()
    (b.root / b.picture("Q4")).unlink()
    image.save(b.root / b.picture("Q4"), compress_level=9)


def resolution(b):
    """A chunk that others may write."""
    content = b.read(b.picture("Q4"))
    with Image.open(b.root / b.picture("Q4")) as image:
        image.load()
    (b.root / b.picture("Q4")).unlink()
    image.save(b.root / b.picture("Q4"), dpi=(100, 100))
    assert b.read(b.picture("Q4")) != content


def answer_in_the_question(b):
    b.of("Q1a")["question"] += f" ({b.of('Q1a')['answer']} it is, so one hears.)"


def no_words(b):
    b.of("Q3")["question"] = ""


def question_of_another_type(b):
    b.of("Q1a")["question"] = b.of("Q4")["question"]


def other_bonds(b):
    one, other = (
        b.of("Q2"),
        next(r for r in b.full if r["qtype"] == "Q2" and r["structure"] != b.of("Q2")["structure"]),
    )
    one["question"], other["question"] = other["question"], one["question"]


def text_of_another_scene(b):
    one = b.of("Q4")
    other = next(
        row
        for row in b.full
        if row["qtype"] == "Q4"
        and row["answer_text"] == one["answer_text"]
        and row["text_repr"] != one["text_repr"]
    )
    one["text_repr"], other["text_repr"] = other["text_repr"], one["text_repr"]


def atom_missing_in_a_text(b):
    row = b.of("Q4")
    row["text_repr"] = row["text_repr"].rpartition("\n")[0]


def another_structure(b):
    one, other = (
        b.of("Q1a"),
        next(
            r for r in b.full if r["qtype"] == "Q1a" and r["structure"] != b.of("Q1a")["structure"]
        ),
    )
    one["structure"], other["structure"] = other["structure"], one["structure"]
    mine, its = one["meta"], other["meta"]
    mine["base_structure"], its["base_structure"] = its["base_structure"], mine["base_structure"]


def another_base(b):
    row = b.of("Q1a")
    row["meta"]["base_structure"] = next(n for n in NAMES if n != row["structure"])


def meta_of(name, value):
    def defect(b):
        b.of("Q1a")["meta"][name] = value

    defect.__name__ = f"wrong_{name}"
    return defect


def difficulties_exchanged(b):
    easy = next(r for r in b.full if r["difficulty"] == "easy")
    hard = next(r for r in b.full if r["difficulty"] == "hard")
    easy["difficulty"], hard["difficulty"] = "hard", "easy"


def swap(row, letter):
    """The right option changes places with that of a letter, and what is told of it."""
    old = row["answer"]
    for of in (row["options"], row["meta"]["option_rules"]):
        of[letter], of[old] = of[old], of[letter]
    row["answer"] = letter


def letters_of_strata(b):
    """Even over all, but not within two strata."""
    for qtype, was, becomes in (("Q1a", "A", "B"), ("Q6", "B", "A")):
        rows = [r for r in b.full if r["qtype"] == qtype and r["answer"] == was]
        for row in rows[:2]:
            swap(row, becomes)


def wrong_of(qtype, number=0):
    def defect(b):
        row = b.of(qtype, number)
        options, letter = row["options"], next(x for x in LETTERS if x != row["answer"])
        options[letter], options[row["answer"]] = options[row["answer"]], options[letter]
        row["answer_text"] = options[row["answer"]]

    defect.__name__ = f"wrong_option_of_{qtype}"
    return defect


def right_option_told_wrong(b):
    rules = b.of("Q1b")["meta"]["option_rules"]
    row = b.of("Q1b")
    other = next(x for x in LETTERS if x != row["answer"])
    rules[other], rules[row["answer"]] = "right", rules[other]


def word_among_options(b):
    row = b.of("Q6")
    row["options"][next(x for x in LETTERS if x != row["answer"])] = "along c"


def views_in_another_order(b):
    row = b.of("Q4")
    for name in ("view_ids", "image_paths"):
        row[name][0], row[name][1] = row[name][1], row[name][0]


def ids_exchanged(b):
    one, other = b.of("Q1a"), b.of("Q1a", 1)
    one["id"], other["id"] = other["id"], one["id"]


def row_in_other_words(b):
    """The same row in JSON of another form."""

    def rewrite():
        lines = b.read(SETS["full"]).decode().splitlines()
        lines[3] = json.dumps(json.loads(lines[3]), ensure_ascii=True, separators=(",", ":"))
        b.write(SETS["full"], ("\n".join(lines) + "\n").encode())

    b.after = rewrite


def file_of(name, content):
    def defect(b):
        if content is None:
            (b.root / name).unlink()
        else:
            b.write(name, content(b.read(name)))

    defect.__name__ = f"{'no' if content is None else 'other'}_{name.partition('/')[0]}"
    return defect


def manifest(change):
    def defect(b):
        told = json.loads(b.read(MANIFEST))
        change(told)
        b.write(MANIFEST, json.dumps(told).encode())

    return defect


def lax(told):
    told["settings"]["questions"] |= {"visible_count": 0, "visible_mark": 0}


def no_settings(told):
    del told["settings"]


def another_creator(told):
    told["creator"] = "someone"


def word_beside(told):
    told["note"] = "q1a-0001 is B"


def scenes(path, change):
    """A dataset of ``scenes.h5``, changed; None: without it."""

    def defect(b):
        b.write("scenes.h5", b.read("scenes.h5"))  # no second name of the package's file
        with h5py.File(b.root / "scenes.h5", "r+") as h5:
            if change is None:
                del h5[path]
            else:
                values = h5[path][()]
                values[:] = change(values)
                h5[path][()] = values

    defect.__name__ = f"other_{path.replace('/', '_')}"
    return defect


#: Each defect with the rule that must find it.
DEFECTS = [
    (scenes("visible/share", lambda v: v * 0 + 1), "scene-again"),
    (scenes("displayed/position", lambda v: v + 0.1), "scene-again"),
    (scenes("views/rotation", lambda v: v[:, ::-1]), "scene-again"),
    (scenes("scenes/px_per_angstrom", lambda v: v * 0.99), "picture-again"),
    (scenes("base_atoms/number", lambda v: v + 1), "scenes"),
    (scenes("pictures/pixels_sha256", lambda v: v[::-1]), "picture-drawn"),
    (scenes("pictures/pixels_sha256", None), "scenes"),
    (scenes("displayed/index", lambda v: v + 1000), "scenes"),
    (scenes("bases/name", lambda v: v[::-1]), "scenes"),
    (scenes("views/tilt", lambda v: v + 1), "scenes"),
    (pictures_of_two_scenes, "picture-drawn"),
    (pictures_of_two_views, "picture-drawn"),
    (one_pixel, "picture-drawn"),
    (other_bytes, "picture-bytes"),
    (resolution, "picture-chunks"),
    (answer_in_the_question, "rebuilt-question"),
    (no_words, "rebuilt-question"),
    (question_of_another_type, "rebuilt-question"),
    (other_bonds, "rebuilt-question"),
    (text_of_another_scene, "rebuilt-text_repr"),
    (atom_missing_in_a_text, "rebuilt-text_repr"),
    (another_structure, "rebuilt-structure"),
    (another_base, "rebuilt-meta"),
    (meta_of("crystal_system", "triclinic"), "rebuilt-meta"),
    (meta_of("displayed_atoms", 7), "rebuilt-meta"),
    (meta_of("display_mode", "environment"), "rebuilt-meta"),
    (meta_of("text_applicable", 0), "rebuilt-meta"),
    (meta_of("hint", "B"), "rebuilt-meta"),
    (difficulties_exchanged, "rebuilt-difficulty"),
    (letters_of_strata, "letters-stratum"),
    *((wrong_of(t), "rebuilt-answer_text") for t in ("Q1a", "Q1b", "Q2", "Q3", "Q4", "Q5", "Q6")),
    (right_option_told_wrong, "rebuilt-meta"),
    (word_among_options, "option-form"),
    (views_in_another_order, "rebuilt-views"),
    (ids_exchanged, "rebuilt-id"),
    (row_in_other_words, "json"),
    (file_of("README.md", lambda text: text.replace(b"64 four", b"65 four")), "rebuilt-file"),
    (file_of("LICENSE", lambda _: b"all rights reserved\n"), "rebuilt-file"),
    (file_of("croissant.json", lambda _: b'{"hello": 1}\n'), "rebuilt-file"),
    (file_of("croissant.json", None), "file-missing"),
    (file_of("provenance/structures.jsonl", None), "file-missing"),
    (
        file_of("provenance/structures.jsonl", lambda t: t.replace(b"tetra", b"tri")),
        "structures-file",
    ),
    (
        file_of("provenance/structures.jsonl", lambda t: t.partition(b"\n")[2]),
        "structures-file",
    ),
    (file_of("scenes.h5", None), "file-missing"),
    (file_of("scenes.h5", lambda _: b"garbage" * 99), "scenes"),
    (manifest(lax), "settings"),
    (manifest(no_settings), "manifest"),
    (manifest(another_creator), "manifest"),
    (manifest(word_beside), "manifest"),
]


@pytest.mark.parametrize("number", range(len(DEFECTS)))
def test_each_defect_is_found(number, package, tmp_path, monkeypatch):
    monkeypatch.setattr(again, "SCENES_AGAIN", 1)
    monkeypatch.setattr(again, "PICTURES_AGAIN", 1)
    defect, rule = DEFECTS[number]
    broken = Broken(package, tmp_path / "b")
    defect(broken)
    broken.close()
    if hasattr(broken, "after"):
        broken.after()
        broken.hash()
    found = Counter(one.rule for one in check_package(broken.root))
    assert found[rule], (defect.__name__, found)


LARGE = """data_large
_cell_length_a {side}
_cell_length_b {side}
_cell_length_c {side}
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
Na1 Na 0 0 0
Cl1 Cl 0.5 0.5 0.5
"""


def test_a_build_names_each_structure_that_it_refuses(tmp_path, capsys):
    """One structure of 80 Å: told with -v by name and reason, else counted; a package is none."""
    cif = tmp_path / "large.cif"
    cif.write_text(LARGE.format(side=80))
    for word, told in (("-v", "large.cif: undrawable: its cell cannot"), ("", "refused: 1; -v")):
        asked = ["build", str(cif), "-o", str(tmp_path / f"b{word}"), "--progress", "none"]
        assert main([*asked, *filter(None, [word])]) == 1
        streams = capsys.readouterr()
        assert told in streams.out and "nothing is displayed of any structure" in streams.err


def test_a_package_is_no_source_of_structures(package, tmp_path, capsys):
    for path in (package, package / SETS["full"], package / "scenes.h5"):
        assert main(["build", str(path), "-o", str(tmp_path / "b"), "-q"]) == 2
        assert f"{package} is a package of questions" in capsys.readouterr().err
