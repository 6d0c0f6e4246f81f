"""The check of packages: nothing on ours, each of many seeded defects found."""

import copy
import hashlib
import io
import json
import struct
import zlib
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import question_cases as cases
from PIL import Image

from rc_hpc.benchmark.checks.options import CheckOptions
from rc_hpc.benchmark.checks.run import check_package, floors, run
from rc_hpc.benchmark.checks.scenes import check_scenes
from rc_hpc.benchmark.package import SETS
from rc_hpc.benchmark.questions.options import QuestionOptions
from rc_hpc.benchmark.records import LETTERS
from rc_hpc.core.door import Talk
from rc_hpc.core.errors import UsageError

pytestmark = pytest.mark.long


def picture(size=512, name=""):
    """A PNG with a spot whose colour is told by a name."""
    sink, image = io.BytesIO(), Image.new("RGB", (size, size), "white")
    image.paste(tuple(hashlib.sha256(name.encode()).digest()[:3]), (1, 1, 9, 9))
    image.save(sink, "PNG")
    return sink.getvalue()


def with_chunk(content, kind, body):
    """A PNG with one more chunk."""
    chunk = struct.pack(">I", len(body)) + kind + body
    return content[:33] + chunk + struct.pack(">I", zlib.crc32(kind + body)) + content[33:]


class Made:
    """A package in memory: rows, rows of the subset, files; a defect changes them."""

    def __init__(self, full, mini, files):
        self.full, self.mini, self.files = full, mini, dict(files)
        self.asked = {"questions": len(full), "mini": len(mini) // 8}
        self.after = []

    def of(self, qtype, number=0):
        """A row of a type; of one that the subset does not have, so that it stays a part."""
        inside = {row["id"] for row in self.mini}
        own = [r for r in self.full if r["qtype"] == qtype and r["id"] not in inside]
        return own[number]

    def all_of(self, qtype):
        """Rows of a type, those of the subset too."""
        return [row for row in self.full + self.mini if row["qtype"] == qtype]

    def write(self, folder):
        for name, rows in zip(SETS.values(), (self.full, self.mini)):
            text = "".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows)
            self.files[name] = text.encode()
        told = {
            name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
            for name, content in self.files.items()
        }
        asked = {**self.asked, "per_structure": 4, "per_difficulty": 2}
        manifest = {"settings": {"asked": asked}, "files": told}
        files = {**self.files, "manifest.json": json.dumps(manifest).encode()}
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        for change in self.after:
            change(folder)
        return folder


def made_of(draw):
    full, mini = cases.rows(draw)
    files = {f"images/{p}": picture(name=p) for row in full for p in row["image_paths"]}
    return Made(full, mini, {**files, "README.md": b"# ours\n", "LICENSE": b"CC BY 4.0\n"})


@pytest.fixture(scope="module")
def made():
    """64 questions on six structures."""
    return made_of(cases.small_draw(64, cases.SIX, 3))


def copied(made):
    return Made(copy.deepcopy(made.full), copy.deepcopy(made.mini), made.files)


def test_nothing_is_found_on_ours(made, tmp_path, capsys):
    folder = made.write(tmp_path / "ours")
    assert [str(one) for one in check_package(folder)] == []
    capsys.readouterr()
    assert run(CheckOptions.of(package=folder, strict=True, floors=True), Talk()) == 0
    told = capsys.readouterr().out
    assert told.startswith("note: there is no scenes.h5")
    assert "nothing found\nQ1a" in told and told.count("option prior") == 8
    assert floors(folder) in told


def other_letter(row):
    return next(x for x in LETTERS if x != row["answer"])


def answers(row, letter):
    row["answer"], row["answer_text"] = letter, row["options"][letter]


def reset(row, letter, text):
    """Another text of an option, right or wrong."""
    row["options"][letter] = text
    row["answer_text"] = row["options"][row["answer"]]


def flipped_byte(made):
    name = made.of("Q1a")["image_paths"][0]

    def flip(folder):
        path = folder / "images" / name
        content = bytearray(path.read_bytes())
        content[60] ^= 1
        path.write_bytes(bytes(content))

    made.after.append(flip)


def missing_picture(made):
    made.after.append(lambda folder: (folder / "images" / made.of("Q4")["image_paths"][1]).unlink())


def missing_licence(made):
    del made.files["LICENSE"]


def longer_file(made):
    made.after.append(lambda folder: (folder / "README.md").write_bytes(b"# ours, changed\n"))


def same_size_other_words(made):
    made.after.append(lambda folder: (folder / "README.md").write_bytes(b"# 0urs\n"))


def stray_file(made):
    made.after.append(lambda folder: (folder / "notes.txt").write_text("left behind"))


def stray_picture(made):
    made.files["images/scenes/s0123456789ab/v00.png"] = picture()


def small_picture(made):
    made.files[f"images/{made.of('Q1b')['image_paths'][0]}"] = picture(256)


def no_png(made):
    made.files[f"images/{made.of('Q1b')['image_paths'][0]}"] = b"GIF89a" + bytes(90)


def cut_picture(made):
    made.files[f"images/{made.of('Q1b')['image_paths'][0]}"] = picture()[:-20]


def changed_picture(made, change):
    name = f"images/{made.of('Q1b')['image_paths'][0]}"
    made.files[name] = change(made.files[name])


def picture_with_words(made):
    changed_picture(made, lambda png: with_chunk(png, b"tEXt", b"Title\0rock salt"))


def picture_with_a_private_chunk(made):
    changed_picture(made, lambda png: with_chunk(png, b"prVt", b"answer B"))


def picture_with_a_time(made):
    changed_picture(made, lambda png: with_chunk(png, b"tIME", bytes(7)))


def bytes_behind_a_picture(made):
    changed_picture(made, lambda png: png + b"ans B")


def broken_pixels(made):
    """The stream of pixels is broken, and the chunk around it whole."""

    def broken(png):
        at = png.index(b"IDAT")
        (length,) = struct.unpack(">I", png[at - 4 : at])
        body = bytearray(png[at + 4 : at + 4 + length])
        body[length // 2] ^= 255
        chunk = b"IDAT" + bytes(body)
        ending = struct.pack(">I", zlib.crc32(chunk))
        return png[:at] + chunk + ending + png[at + 8 + length :]

    changed_picture(made, broken)


def white_picture(made):
    sink = io.BytesIO()
    Image.new("RGB", (512, 512), "white").save(sink, "PNG")
    changed_picture(made, lambda _: sink.getvalue())


def one_picture_thrice(made):
    first, *others = made.of("Q3")["image_paths"]
    for path in others:
        made.files[f"images/{path}"] = made.files[f"images/{first}"]


def linked_picture(made):
    name = made.of("Q3")["image_paths"][0]

    def link(folder):
        path = folder / "images" / name
        path.rename(folder.parent / "elsewhere.png")
        path.symlink_to(folder.parent / "elsewhere.png")

    made.after.append(link)


def row_twice_in_mini(made):
    made.mini[1] = copy.deepcopy(made.mini[0])


def mini_in_another_order(made):
    made.mini.reverse()


def key_twice(made):
    line = json.dumps(made.full[0])
    made.full[0] = line.replace('"answer": ', '"answer": "C", "answer": ', 1) + "\n"


def no_number(made):
    made.of("Q4")["meta"]["x"] = float("nan")


def number_twice(made):
    row = made.of("Q1a")
    row["options"][other_letter(row)] = f" {row['answer_text']}.0"


def word_among_numbers(made):
    row = made.of("Q1a")
    row["options"][other_letter(row)] = "twenty"


def unseen_mark(made):
    for row in made.full + made.mini:
        reset(row, row["answer"], row["answer_text"] + "\u200b")


def answer_in_the_question(made):
    row = made.of("Q1a")
    row["question"] += f" (Answer: {row['answer']})"


def hint_in_the_question(made):
    row = made.of("Q1a")
    row["question"] += f" Hint: it is {row['answer_text']}."


def answer_in_the_text(made):
    row = made.of("Q3")
    row["text_repr"] += f"\nThe correct option is {row['answer']}"


def turned_to(row, letter):
    """The right option changes places with that of a letter."""
    options, old = row["options"], row["answer"]
    options[letter], options[old] = options[old], options[letter]
    answers(row, letter)


def letters_in_turn(made):
    for k, row in enumerate(made.full):
        turned_to(row, LETTERS[k % 4])


def letters_of_a_stratum(made):
    for row in made.all_of("Q1a"):
        turned_to(row, "A")


def manifest_lists_itself(made):
    def add(folder):
        path = folder / "manifest.json"
        content = json.loads(path.read_text())
        content["files"]["manifest.json"] = {"sha256": "0" * 64, "bytes": 1}
        path.write_text(json.dumps(content))

    made.after.append(add)


def no_manifest(made):
    made.after.append(lambda folder: (folder / "manifest.json").unlink())


def fifth_question(made):
    """A structure has five questions of a type; the stratum's number stays."""
    rows = [r for r in made.full if r["qtype"] == "Q1a"]
    for row in rows[:5]:
        rename(made, row["id"], "rutile")


def rename(made, name, base):
    for row in made.full + made.mini:
        if row["id"] == name:
            row["structure"] = row["meta"]["base_structure"] = base


def third_of_a_difficulty(made):
    rows = [r for r in made.full if r["qtype"] == "Q2" and r["difficulty"] == "hard"]
    for row in rows[:3]:
        rename(made, row["id"], "fluorite")


def unbalanced_letter(made):
    row = made.of("Q1a")
    letter = other_letter(row)
    options = row["options"]
    options[letter], options[row["answer"]] = options[row["answer"]], options[letter]
    answers(row, letter)


def letters_of_mini(made):
    inside = {row["id"] for row in made.mini}
    for row in made.full + made.mini:
        if row["id"] in inside and row["answer"] != "A":
            options, old = row["options"], row["answer"]
            options["A"], options[old] = options[old], options["A"]
            answers(row, "A")


def dropped_row(made):
    made.full.remove(made.of("Q3"))


def row_twice(made):
    made.full.append(copy.deepcopy(made.of("Q3")))


def asked_twice(made):
    row = copy.deepcopy(made.of("Q3"))
    row["id"] = "q3-9999"
    made.full.append(row)


def leaked_name(made):
    row = made.of("Q4")
    row["question"] += f" (It is {row['structure']}.)"


def leaked_scene(made):
    row = made.of("Q1b")
    row["text_repr"] += f"\nScene {row['scene_id']}"


def leaked_name_of_another(made):
    row = next(r for r in made.full if r["qtype"] == "Q2" and r["structure"] != "rutile")
    row["text_repr"] += "\nNot as in Rutile"


def leaked_space_group(made):
    made.of("Q3")["question"] += " Its space group is cubic."


def option_nobody_would_pick(made):
    row = made.of("Q1a")
    reset(row, other_letter(row), "4000")


def dead_option(made):
    """One number that is never right stands in every question."""
    for row in made.all_of("Q1a"):
        reset(row, other_letter(row), "33")


def giveaway(made):
    """Four numbers for every question, of which one is always right."""
    for row in made.all_of("Q1a"):
        row["options"] = dict(zip([x for x in LETTERS if x != row["answer"]], ("20", "26", "30")))
        row["options"][row["answer"]] = "23"
        row["answer_text"] = "23"


def third_smallest(made):
    """The classic: displayed atoms, one more, one less, and without images."""
    for k, row in enumerate(made.all_of("Q1a")):
        n = 20 + 3 * k
        wrong = [str(n + 1), str(n - 1), str(n // 2)]
        row["options"] = dict(zip([x for x in LETTERS if x != row["answer"]], wrong))
        row["options"][row["answer"]] = row["answer_text"] = str(n)


def three_options(made):
    del made.of("Q1a")["options"]["D"]


def empty_option(made):
    row = made.of("Q1a")
    reset(row, other_letter(row), " ")


def same_option_twice(made):
    row = made.of("Q1b")
    letter = other_letter(row)
    reset(row, letter, "  ".join(reversed(row["answer_text"].split())))
    if len(row["answer_text"].split()) == 1:
        reset(row, letter, row["answer_text"] + " ")


def wrong_answer_text(made):
    row = made.of("Q1a")
    row["answer_text"] = row["options"][other_letter(row)]


def no_letter(made):
    made.of("Q1a")["answer"] = "E"


def wrong_key(made):
    """Letters of two questions are exchanged: only the text tells that both are wrong."""
    rows = [r for r in made.full if r["qtype"] == "Q3"]
    one = rows[0]
    other = next(r for r in rows if r["answer"] != one["answer"])
    ids = (one["id"], other["id"])
    letters = (other["answer"], one["answer"])
    for row in made.full + made.mini:
        if row["id"] in ids:
            answers(row, letters[ids.index(row["id"])])


def wrong_content(made):
    row = made.of("Q1b")
    right, other = row["answer"], other_letter(row)
    options = row["options"]
    options[right], options[other] = options[other], options[right]
    row["answer_text"] = options[right]


def wrong_coordination(made):
    wrong_of(made.of("Q2"))


def wrong_system(made):
    rows = made.all_of("Q4")
    wrong_of(rows[0])


def wrong_of(row):
    right, other = row["answer"], other_letter(row)
    options = row["options"]
    options[right], options[other] = options[other], options[right]
    row["answer_text"] = options[right]


def two_pictures(made):
    row = made.of("Q4")
    row["image_paths"], row["view_ids"] = row["image_paths"][:2], row["view_ids"][:2]


def swapped_pictures(made):
    row = made.of("Q3")
    row["image_paths"] = row["image_paths"][::-1]


def absolute_path(made):
    made.of("Q3")["image_paths"][0] = "/tmp/v00.png"


def path_out_of_the_package(made):
    made.of("Q3")["image_paths"][0] = "../../scenes/x/v00.png"


def one_scene_in_a_pair(made):
    row = made.of("Q5")
    row["scene_id"] = row["scene_id"][0]


def named_scene(made):
    row = made.of("Q6")
    old = f"images/{row['image_paths'][0]}"
    row["scene_id"] = "rutile_001"
    row["image_paths"] = [f"scenes/rutile_001/{row['view_ids'][0]}.png"]
    made.files[f"images/{row['image_paths'][0]}"] = made.files.pop(old)


def text_where_none_may_be(made):
    made.of("Q6")["text_repr"] = "seen along a"


def text_missing(made):
    made.of("Q4")["text_repr"] = ""


def text_applicable_wrong(made):
    made.of("Q1a")["meta"]["text_applicable"] = True


def no_base_structure(made):
    del made.of("Q1a")["meta"]["base_structure"]


def traps_not_half(made):
    row = next(r for r in made.full if r["qtype"] == "Q3" and r["meta"]["depth_trap"])
    row["meta"]["depth_trap"] = False


def pairs_not_half(made):
    row = next(r for r in made.full if r["qtype"] == "Q5" and r["meta"]["mutation"] != "none")
    row["meta"]["mutation"] = "none"


def extra_field(made):
    made.of("Q1a")["space_group"] = 136


def lost_field(made):
    del made.of("Q1a")["text_repr"]


def mini_row_differs(made):
    made.mini[0]["question"] += "?"


def mini_row_elsewhere(made):
    made.mini[0]["id"] = "q9-0001"


def mini_too_small(made):
    del made.mini[0]


def unknown_stratum(made):
    made.of("Q2")["difficulty"] = "middling"


def torn_line(made):
    made.full.append('{"id": "q1a-9999", "qtype": ')


#: Each defect with the rule that must find it.
DEFECTS = {
    flipped_byte: "sha256",
    missing_picture: "picture-missing",
    missing_licence: "file-missing",
    longer_file: "size",
    same_size_other_words: "sha256",
    stray_file: "not-in-manifest",
    stray_picture: "picture-unused",
    small_picture: "picture-size",
    no_png: "picture",
    cut_picture: "picture",
    picture_with_words: "picture-words",
    picture_with_a_private_chunk: "picture-chunks",
    picture_with_a_time: "picture-chunks",
    bytes_behind_a_picture: "picture",
    broken_pixels: "picture",
    white_picture: "picture-blank",
    one_picture_thrice: "picture-twice",
    linked_picture: "link",
    row_twice_in_mini: "mini-row",
    mini_in_another_order: "mini-row",
    key_twice: "json",
    no_number: "json",
    number_twice: "option-twice",
    word_among_numbers: "option-form",
    unseen_mark: "unseen",
    answer_in_the_question: "leak",
    hint_in_the_question: "leak",
    answer_in_the_text: "leak",
    letters_in_turn: "letters-running",
    letters_of_a_stratum: "letters-stratum",
    manifest_lists_itself: "manifest-itself",
    no_manifest: "file-missing",
    fifth_question: "per-structure",
    third_of_a_difficulty: "per-structure",
    unbalanced_letter: "letters",
    letters_of_mini: "mini-letters",
    dropped_row: "stratum",
    row_twice: "id-twice",
    asked_twice: "asked-twice",
    leaked_name: "leak",
    leaked_scene: "leak",
    leaked_name_of_another: "leak",
    leaked_space_group: "leak",
    option_nobody_would_pick: "implausible-option",
    dead_option: "dead-option",
    giveaway: "giveaway",
    third_smallest: "rule-of-thumb",
    three_options: "row",
    empty_option: "option-empty",
    same_option_twice: "option-twice",
    wrong_answer_text: "answer-text",
    no_letter: "row",
    wrong_key: "answer",
    wrong_content: "answer",
    wrong_coordination: "answer",
    wrong_system: "answer",
    two_pictures: "picture-count",
    swapped_pictures: "picture-view",
    absolute_path: "picture-path",
    path_out_of_the_package: "picture-path",
    one_scene_in_a_pair: "scenes",
    named_scene: "scene-name",
    text_where_none_may_be: "text-given",
    text_missing: "text-missing",
    text_applicable_wrong: "text-applicable",
    no_base_structure: "meta",
    traps_not_half: "depth-traps",
    pairs_not_half: "pairs",
    extra_field: "fields",
    lost_field: "fields",
    mini_row_differs: "mini-row",
    mini_row_elsewhere: "mini-row",
    mini_too_small: "stratum",
    unknown_stratum: "row",
    torn_line: "row",
}


def several(row, k):
    """The same question of another structure."""
    base = f"{row['structure']}{k}"
    meta = {**row["meta"], "base_structure": base}
    return {**row, "id": f"{row['id']}{k}", "structure": base, "meta": meta}


#: Those that only many questions tell.
OF_MANY = (dead_option, giveaway, third_smallest, letters_in_turn, letters_of_a_stratum)


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_each_defect_is_found(defect, made, tmp_path):
    broken = copied(made)
    if defect in OF_MANY:
        broken.full = [several(row, k) for row in broken.full for k in range(3)]
    defect(broken)
    found = Counter(one.rule for one in check_package(broken.write(tmp_path / "package")))
    assert found[DEFECTS[defect]], found


def test_findings_are_told_one_a_line_and_strict_makes_them_an_error(made, tmp_path, capsys):
    broken = copied(made)
    for row in broken.full:
        if row["qtype"] == "Q6":
            row["text_repr"] = "seen along a"
    folder = broken.write(tmp_path / "package")
    capsys.readouterr()
    assert run(CheckOptions.of(package=folder, most=2), Talk()) == 3
    lines = capsys.readouterr().out.strip().split("\n")
    assert run(CheckOptions.of(package=folder, strict=True), Talk(quiet=True)) == 1
    assert not capsys.readouterr().out
    assert sum(line.endswith("[text-given]") for line in lines) == 2
    assert "and 6 more of text-given" in lines and lines[-1].endswith("findings")


def with_answer(question, letter):
    return replace(question, answer=letter, answer_text=question.options[letter])


def test_scenes_tell_what_no_text_does():
    """Counts, traps and directions that are wrong; atoms that are hidden; scenes not there."""
    draw = cases.small_draw(64, cases.SIX, 3)
    bases, options = cases.catalogue(), QuestionOptions()

    def found(change, stratum, scenes=draw.scenes):
        own = [q for q in draw.questions if q.stratum == stratum]
        assert not list(check_scenes(own, draw.scenes, bases, options))
        return {one.rule for one in check_scenes([change(own[0])], scenes, bases, options)}

    def wrong(q):
        return with_answer(q, next(x for x in LETTERS if x != q.answer))

    def other_trap(q):
        return replace(q, meta={**q.meta, "depth_trap": not q.depth_trap})

    def twice(q):
        letter = next(x for x in LETTERS if x != q.answer)
        opposite = q.answer_text.replace("[", "[-").replace(" ", " -")
        return replace(q, options={**q.options, letter: opposite})

    def half_hidden(q):
        return q

    dark = {k: replace(s, visible=s.visible * 0.4) for k, s in draw.scenes.items()}
    bare = {k: replace(s, marks={}) for k, s in draw.scenes.items()}
    assert found(wrong, "Q1a") == {"answer"}
    assert found(half_hidden, "Q1a", dark) == found(half_hidden, "Q3", dark) == {"hidden"}
    one_view = {  # a letter must be seen in every picture, a centre in one of them
        k: replace(s, visible=s.visible * np.where(np.arange(len(s.cameras)) == 1, 0.6, 1)[:, None])
        for k, s in draw.scenes.items()
    }
    assert found(half_hidden, "Q3", one_view) == {"hidden"}
    assert found(half_hidden, "Q2_hard", one_view) == set()
    assert found(half_hidden, "Q2_hard", bare) == {"marks"}
    assert found(other_trap, "Q3") == {"depth-trap"}
    assert found(wrong, "Q6") == {"answer"}
    assert found(twice, "Q6") == {"option-twice"}
    assert found(half_hidden, "Q5", {}) == {"scene-missing"}
    assert found(lambda q: replace(q, view_ids=["v09", *q.view_ids[1:]]), "Q4") == {"view-missing"}


def test_no_folder_is_told(tmp_path):
    with pytest.raises(UsageError, match="no folder"):
        check_package(tmp_path / "nothing")
