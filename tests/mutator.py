"""Damaged inputs of every format that commands read, and what reading them must not do.

``python tests/mutator.py FIRST COUNT`` runs the cases FIRST ... FIRST + COUNT - 1 and tells what is
wrong with any. A case is a seed: the same number is the same bytes.
"""

import contextlib
import gzip
import importlib
import io
import json
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from rc_hpc.core.apart import OVERTIME, Apart, Lost
from rc_hpc.core.errors import DOUBTFUL, RcError, Status, StructureError

#: CPU time of one case, s: what takes longer would hold up a run.
CASE_S = 60.0
#: Cases after which a command reads the file too.
COMMAND_EVERY = 20
NUMBERS = (b"1e308", b"nan", b"-inf", b"0", b"-1", b"9" * 500, b"1e-308", b"0x10", b"1/0", b"")
INSERTS = (
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"'",
    b'"',
    b"\n;\n",
    b"[" * 3000,
    b"{",
    b"\r",
    b"#",
)


def mutated(data, luck, other):
    """`data` with one to four changes of any kind."""
    data = bytearray(data)
    for _ in range(luck.choice((1, 1, 1, 2, 4))):
        size = len(data)
        at = luck.randrange(size + 1)
        span = slice(at, min(size, at + luck.choice((1, 2, 8, 64, 512))))
        kind = luck.randrange(10)
        if kind <= 1 and size:
            for _ in range(luck.choice((1, 1, 8, 64))):
                data[luck.randrange(size)] ^= 1 << luck.randrange(8)
        elif kind == 2:
            del data[span]
        elif kind == 3:
            data[at:at] = data[span] * luck.choice((1, 3))
        elif kind == 4:
            data[at:at] = luck.choice(INSERTS)
        elif kind == 5:
            del data[at:]
        elif kind == 6:
            data[span] = luck.randbytes(len(data[span]))
        elif kind == 7 and other:
            start = luck.randrange(len(other))
            data[span] = other[start : start + luck.choice((8, 64, 512))]
        elif kind == 8:
            found = list(re.finditer(rb"-?\d+(\.\d+)?", bytes(data[at : at + 2000])))
            if found:
                one = luck.choice(found)
                data[at + one.start() : at + one.end()] = luck.choice(NUMBERS)
        else:
            lines = bytes(data).split(b"\n")
            a, b = (luck.randrange(len(lines)) for _ in range(2))
            lines[a], lines[b] = lines[b], lines[a]
            data = bytearray(b"\n".join(lines))
    return bytes(data)


class Inputs:
    """One good file of each format, and what reads it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.files = {}
        _write_structures(self)
        _write_texts(self)
        _unpack_results(self)

    def add(self, name, data, read, command=()):
        """A good file: `read` gives complaints of a damaged one, `command` reads it too."""
        self.files[name] = (data, read, command)


def pieces_of(text):
    """Six crystals as CIF texts of one block each."""
    from pymatgen.core import Lattice, Structure
    from pymatgen.io.cif import CifWriter

    crystals = [
        Structure.from_spacegroup(
            "Fm-3m", Lattice.cubic(5.64 + k), ["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]]
        )
        for k in range(3)
    ]
    crystals += [
        Structure(Lattice.hexagonal(3.2 + k, 5.2), ["Mg"], [[1 / 3, 2 / 3, 0.25]]) for k in range(3)
    ]
    return crystals, [str(CifWriter(one, symprec=0.01)) for one in crystals]


def _write_structures(inputs):
    from ase.db import connect
    from ase.io import write
    from pymatgen.io.ase import AseAtomsAdaptor
    from pymatgen.io.vasp import Poscar

    crystals, cifs = pieces_of("")
    blocks = "".join(
        text.replace(re.search(r"data_\S+", text)[0], f"data_b{k}") for k, text in enumerate(cifs)
    )
    atoms = [AseAtomsAdaptor.get_atoms(one) for one in crystals]
    dictionaries = {f"k{k}": one.as_dict() for k, one in enumerate(crystals)}
    lines = [json.dumps({"id": name, "structure": one}) for name, one in dictionaries.items()]
    frames = io.StringIO()
    write(frames, atoms[:3], format="extxyz")
    database = inputs.folder / "good.db"
    with connect(database) as rows:
        for one in atoms[:3]:
            rows.write(one)
    pack = ("pack", "-o", "out.h5", "--overwrite", "-q")
    add = inputs.add
    add("one.cif", cifs[0].encode(), structures, pack)
    add("one.cif.gz", gzip.compress(cifs[3].encode(), mtime=0), structures, pack)
    add("blocks.cif", blocks.encode(), structures, pack)
    add("x.vasp", Poscar(crystals[0]).get_str().encode(), structures, pack)
    add("x.xyz", frames.getvalue().encode(), structures, pack)
    add("x.json", json.dumps(dictionaries).encode(), structures, pack)
    add("lines.jsonl", "\n".join(lines).encode(), structures, pack)
    add("x.db", database.read_bytes(), structures, pack)


CAMERAS = """\
name = "mine"
tiling = [1, 1, 1]
[[camera]]
name = "a"
direction = [1.0, 0.0, 0.0]
[[camera]]
name = "b"
rotation = "90x,0y,10z"
distance = 40.0
"""


def _write_texts(inputs):
    rows = [
        {"material_id": f"mp-{k}", "truth": "cubic", "pred": "cubic", "votes": {"cubic": 3}}
        for k in range(4)
    ]
    predictions = {
        "arm": "views-only", "K": 3, "n": 4, "micro": 1.0, "model": "m", "predictions": rows,
    }  # fmt: skip
    labels = "".join(
        json.dumps({"material_id": f"mp-{k}", "crystal_system": "cubic", "formula": "NaCl"}) + "\n"
        for k in range(4)
    )
    journal = [{"run": {"model": "m"}}] + [
        line
        for k in range(3)
        for line in ({"sent": f"k{k}"}, {"key": f"k{k}", "outcome": "answered", "text": "cubic"})
    ]
    tables = "rc_hpc.geometry.protocol:load_protocol"
    add = inputs.add
    add("c.toml", CAMERAS.encode(), reader(tables, text=True))
    add("config.toml", b'delta = 0.1\nprogress = "plain"\nmax-atoms = 60\n', config)
    prices = b'currency = "EUR"\n["m"]\ninput_per_million = 2.5\noutput_per_million = 10\n'
    add("prices.toml", prices, reader("rc_hpc.vlm.prices:read_price", "m"))
    found = reader("rc_hpc.answers.predictions:read_predictions")
    add("p.json", json.dumps(predictions).encode(), found)
    emitted = {"mp-1": [["Na", 0.1, 0.2, 0.3], ["Cl", 1, 2, 3]]}
    add(
        "e.json",
        json.dumps(emitted).encode(),
        reader("rc_hpc.answers.extractions:read_extractions"),
    )
    add(
        "labels.jsonl",
        labels.encode(),
        reader("rc_hpc.ladder.inputs:read_labels", "crystal_system"),
    )
    add("train.jsonl", labels.encode(), split)
    add("ids.txt", b"# some\nmp-1\nmp-2\n", reader("rc_hpc.core.ids:read_ids", "--ids"))
    text = "".join(json.dumps(line) + "\n" for line in journal)
    add("x.journal.jsonl", text.encode(), reader("rc_hpc.vlm.journal:read_journal"))


def _unpack_results(inputs):
    sys.path.insert(0, str(Path(__file__).parent / "unit"))
    from old_cases import KINDS, unpack

    from rc_hpc.store.files import write_seal

    unpack(inputs.folder)
    for kind in KINDS:
        path = inputs.folder / f"{kind}.h5"
        command = ("tables",) if kind in ("census", "frontier", "noise", "design") else ()
        command = ("census", "validate") if kind == "packed" else command
        inputs.add(f"{kind}.h5", path.read_bytes(), result, command)
    with open(inputs.folder / "census.h5", "r+b") as file:
        write_seal(file)
    inputs.add("sealed.h5", (inputs.folder / "census.h5").read_bytes(), result, ("tables",))
    (picture, *_) = sorted((inputs.folder / "renders").iterdir())
    inputs.add("x.png", picture.read_bytes(), png)
    folder = inputs.folder / "stopped.h5.parts"
    inputs.add("run.json", (folder / "run.json").read_bytes(), parts)
    (part,) = folder.glob("*.h5")
    inputs.add(part.name, part.read_bytes(), parts)


# what reads them: each gives complaints, and may raise RcError


def structures(path):
    """Listed and packed: each row has a status that is no 'internal'."""
    from rc_hpc.engine.memory import pack
    from rc_hpc.kinds.packed.options import PackOptions
    from rc_hpc.structures.sources import iter_items

    rows = pack(iter_items([str(path)]), PackOptions(max_atoms=40))
    complaints = [
        f"row {id_!r} is internal: {message}"
        for id_, status, message in zip(
            *(rows.batch[f"structures/{name}"] for name in ("id", "status", "message")), strict=True
        )
        if status == Status.internal
    ]
    if not len(rows):
        complaints.append("no row")
    if path.name == "lines.jsonl":
        wanted = sum(bool(line.strip()) for line in path.read_bytes().split(b"\n"))
        if len(rows) != max(1, wanted):
            complaints.append(f"{len(rows)} rows of {wanted} lines")
    if path.name == "blocks.cif" and len(rows) < 6:
        complaints.append(f"{len(rows)} rows of 6 blocks")
    return complaints


def reader(name, *more, text=False):
    def read(path):
        module, _, function = name.partition(":")
        getattr(importlib.import_module(module), function)(str(path) if text else path, *more)
        return []

    return read


def config(path):
    from rc_hpc.engine.entry import parser
    from rc_hpc.kinds.registry import KINDS

    parser(KINDS["census"]).read(["x.h5", "--config", str(path)])
    return []


def split(path):
    from rc_hpc.training.split_files import read_split

    (path.parent / "eval.jsonl").write_text('{"material_id": "x", "crystal_system": "cubic"}\n')
    read_split(path.parent)
    return []


def png(path):
    from rc_hpc.images.pixels import decode

    decode(path.read_bytes(), 32, "box", path.name)
    return []


def parts(path):
    """The one part, or the record, of a stopped run."""
    from rc_hpc.engine.status import status

    folder = path.parent / "s.h5.parts"
    shutil.copytree(path.parent.parent / "good" / "stopped.h5.parts", folder)
    shutil.copy(path, folder / path.name)
    status(path.parent / "s.h5")
    return []


def result(path):
    """Validated, and read whole: what is valid, every reader reads."""
    from rc_hpc.engine.results import tables_of
    from rc_hpc.engine.status import status
    from rc_hpc.engine.tree import open_tree
    from rc_hpc.engine.validate import validate
    from rc_hpc.kinds.packed.reader import PackedReader
    from rc_hpc.kinds.registry import KINDS
    from rc_hpc.kinds.renders.manifest import read_manifest
    from rc_hpc.training.pixel_files import read_pixels

    kind = "census" if path.stem == "sealed" else path.stem
    valid = not validate(path)
    reads = [lambda: [node.load() for node in open_tree(path).subtree]]
    if kind in KINDS:
        reads.append(lambda: status(path))
        if KINDS[kind].tables:
            reads.append(lambda: tables_of(path))
    if kind == "packed":
        reads.append(lambda: _read_packed(PackedReader(path)))
    if kind == "renders":
        reads.append(lambda: read_manifest(path).discs(0, 0))
    if kind == "pixels":
        reads.append(lambda: np.array(read_pixels(path).pixels))
    complaints = []
    for number, read in enumerate(reads):
        try:
            read()
        except RcError as error:
            if valid:
                complaints.append(f"valid, but reader {number} refuses it: {error}")
        except Exception as error:  # noqa: BLE001 - whatever is raised is told
            told = any(str(path) in one for one in DOUBTFUL)
            if valid or not told:
                complaints.append(f"reader {number}: {type(error).__name__}: {error}")
    return complaints


def _read_packed(reader):
    with reader:
        reader.rows(0, len(reader))


class Cases:
    """Runs cases by number; in a process that may be lost."""

    def __init__(self, folder):
        self.folder = Path(folder)
        (self.folder / "good").mkdir(parents=True, exist_ok=True)
        self.inputs = Inputs(self.folder / "good")
        self.names = sorted(self.inputs.files)

    def file(self, number):
        """Name and bytes of a case."""
        luck = random.Random(number)
        name = self.names[number % len(self.names)]
        data = self.inputs.files[name][0]
        other = self.inputs.files[luck.choice(self.names)][0]
        if name == "blocks.cif":
            return name, _one_block(data, luck, other)
        return name, mutated(data, luck, other)

    def run(self, number):
        """Complaints about a case."""
        name, data = self.file(number)
        place = self.folder / "case"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        path = place / name
        path.write_bytes(data)
        try:
            complaints = self.inputs.files[name][1](path)
        except RcError as error:
            complaints = (
                [] if str(error) and "\n\n" not in str(error) else ["a message of many lines"]
            )
        except StructureError as error:
            complaints = [f"StructureError outside a row: {error}"]
        except Exception as error:  # noqa: BLE001 - whatever is raised is told
            complaints = [f"{type(error).__name__}: {error}"]
        return [f"case {number} ({name}): {one}" for one in complaints]

    def command(self, number):
        """Complaints about a command that reads the file of a case."""
        name, data = self.file(number)
        asked = self.inputs.files[name][2]
        if not asked:
            return []
        place = self.folder / "commanded"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        path = place / name
        path.write_bytes(data)
        command, *words = asked
        words = [str(place / one) if one.endswith(".h5") else one for one in words]
        argv = [*words, str(path)] if words[:1] == ["validate"] else [str(path), *words]
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = importlib.import_module(f"rc_hpc.{command}").main(argv)
            except SystemExit as end:
                code = end.code
        told = err.getvalue()
        wrong = []
        if code not in (0, 1, 2, 3):
            wrong.append(f"exit code {code}")
        if (
            "Traceback" in told
            or "internal" in told
            or (code in (1, 2) and not told + out.getvalue())
        ):
            wrong.append(f"told {told[-300:]!r}")
        return [f"case {number} ({name}) through {command}: {one}" for one in wrong]


def _one_block(data, luck, other):
    """Six blocks, one of which is damaged, but not where blocks begin or texts span lines."""
    pieces = re.split(rb"(?m)(?=^data_b)", data)
    at = luck.randrange(1, len(pieces))
    head, _, body = pieces[at].partition(b"\n")
    body = mutated(body, luck, other)
    body = re.sub(rb"(?mi)^(\s*)(;|data_)", rb"\1", body.replace(b"\r", b"\n"))
    pieces[at] = (
        head + b"\n_cell_length_a 4\n" + re.sub(rb"(?mi)^(\s*)(;|data_)", rb"\1", body) + b"\n"
    )
    return b"".join(pieces)


def run(first, count, say=None):
    """Complaints about cases, run in processes that are renewed when one is lost; cases by name."""
    complaints, done = [], Counter()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(folder)
        worker = None

        def answered(function, number):
            nonlocal worker
            if worker is None:
                worker = Apart(lambda which, number: getattr(cases, which)(number), quiet=True)
            try:
                return worker.call(function, number, cpu_s=CASE_S)
            except Lost as lost:
                worker = None
                what = "not done in time" if lost.signal == OVERTIME else str(lost)
                return [f"case {number} ({cases.file(number)[0]}): {what}"]

        for number in range(first, first + count):
            found = answered("run", number)
            if number // len(cases.names) % COMMAND_EVERY == 0:
                found += answered("command", number)
                done["commands"] += 1
            done[cases.names[number % len(cases.names)]] += 1
            complaints += found
            if say:
                for one in found:
                    say(one)
                if (number + 1 - first) % 500 == 0:
                    say(f"{number + 1 - first} cases, {time.monotonic() - began:.0f} s")
        if worker is not None:
            worker.close()
    return complaints, done


if __name__ == "__main__":
    told, counted = run(
        int(sys.argv[1]), int(sys.argv[2]), say=lambda line: print(line, flush=True)
    )
    commands = counted.pop("commands", 0)
    print(f"{counted.total()} cases, {commands} through commands, {len(told)} complaints")
    sys.exit(bool(told))
