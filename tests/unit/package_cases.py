"""Small packages to the letter of the benchmark's card, with pictures of one colour each."""

import hashlib
import io
import json
from dataclasses import asdict, replace

from PIL import Image

from rc_hpc.answers.predictions import to_json
from rc_hpc.answers.scoring import Arm, Row, Sample
from rc_hpc.benchmark.letters import FOUR_LETTERS
from rc_hpc.benchmark.package import SETS
from rc_hpc.benchmark.records import LETTERS, Question
from rc_hpc.core.vocabulary import Outcome

SYSTEMS = ("cubic", "tetragonal", "hexagonal", "trigonal")
#: Question and options of each stratum; where there are no options, numbers are drawn.
ASKED = {
    "Q1a": ("How many atoms are displayed?", ()),
    "Q1b": ("What does one cell hold?", ("Na4 Cl4", "Na2 Cl2", "Na8 Cl8", "Na14 Cl13")),
    "Q2_easy": ("How many neighbours has the highlighted atom?", ()),
    "Q2_hard": ("How many neighbours has the highlighted atom?", ()),
    "Q3": (
        "Which is longer, A-B or A-C?",
        ("A-B by less", "A-B by more", "A-C by less", "A-C by more"),
    ),
    "Q4": ("Which crystal system is it?", SYSTEMS),
    "Q5": ("What has changed?", ("nothing", "two elements", "the cell", "the atoms")),
    "Q6": ("Along which direction is it seen?", ("[100]", "[110]", "[111]", "[210]")),
}


def question(stratum, number, base="salt", answer="A", scene=""):
    """A question of a stratum; its pictures are named after a hash, as the card has it."""
    asked, texts = ASKED[stratum]
    texts = texts or tuple(str(4 + number % 3 + 2 * place) for place in range(4))
    qtype, _, level = stratum.partition("_")
    name = hashlib.sha256(f"{stratum}{number}{scene}".encode()).hexdigest()[:10]
    scenes = [f"s{name}", f"s{name[::-1]}"][: 2 if qtype == "Q5" else 1]
    views = ["s00"] if qtype == "Q6" else ["v00", "v01", "v02"]
    applies = qtype not in ("Q1a", "Q6")
    meta = {"base_structure": base, "text_applicable": applies}
    if qtype == "Q3":
        meta["depth_trap"] = number % 2 == 0
    options = dict(zip(LETTERS, texts, strict=True))
    return Question(
        id=f"{stratum.lower()}-{number:04d}",
        qtype=qtype,
        difficulty=level or "standard",
        structure=base,
        scene_id=scenes if len(scenes) == 2 else scenes[0],
        view_ids=views * len(scenes),
        image_paths=[f"scenes/{one}/{view}.png" for one in scenes for view in views],
        question=asked,
        options=options,
        answer=answer,
        answer_text=options[answer],
        meta=meta,
        text_repr=f"Lattice of {number}\nNa 0.0 0.0 0.0 [A]" if applies else "",
    )


def questions(per_stratum=4, strata=tuple(ASKED), bases=("salt", "rutile", "quartz")):
    """Questions of all strata, letters in turn, over several base structures."""
    return [
        question(stratum, number, bases[number % len(bases)], LETTERS[number % 4])
        for stratum in strata
        for number in range(per_stratum)
    ]


def as_rows(made):
    """Rows of ``questions.jsonl``."""
    return [asdict(one) for one in made]


def write_package(folder, made, mini=(), rows=None):
    """A package of these questions; `rows` in place of what they are written as."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = as_rows(mini or made[:4])
    for name, lines in {"full": rows or as_rows(made), "mini": chosen}.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / SETS[name]).write_text(text)
    (folder / "README.md").write_text("# A package\n")
    (folder / "LICENSE").write_text("CC BY 4.0\n")
    for entry in sorted({entry for one in made for entry in one.image_paths}):
        path = folder / "images" / entry
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(entry))
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    manifest = {
        str(path.relative_to(folder)): {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "bytes": path.stat().st_size,
        }
        for path in files
    }
    (folder / "manifest.json").write_text(json.dumps({"files": manifest}))
    return folder


def picture(entry, size=8):
    """A PNG whose colour is told by its name."""
    colour = tuple(hashlib.sha256(entry.encode()).digest()[:3])
    sink = io.BytesIO()
    Image.new("RGB", (size, size), colour).save(sink, "PNG")
    return sink.getvalue()


def answered(one, answer):
    """The question with another right answer."""
    return replace(one, answer=answer, answer_text=one.options[answer])


#: In the place of a reply: the call failed.
LOST = object()


def write_answers(path, model, arm, made, reply, k=1):
    """A prediction file; `reply(question, number)` gives the text of each sample, or LOST."""
    rows = []
    for one in made:
        if arm == "text" and not one.text_applicable:
            continue
        choices = tuple(one.options.values())
        said = [reply(one, number) for number in range(k)]
        samples = tuple(
            Sample.read(
                FOUR_LETTERS,
                Outcome.gave_up if text is LOST else Outcome.answered,
                "" if text is LOST else text,
                choices=choices,
            )
            for text in said
        )
        rows.append(Row(one.id, one.answer, samples))
    file = Arm(arm, "none", model, k, tuple(rows), task=FOUR_LETTERS).predictions("strict")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_json(file))
    return path
