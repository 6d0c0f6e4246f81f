"""Building and auditing splits: what may be drawn, that draws do not drift, what leaks."""

import json
from dataclasses import replace

import pytest

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import RcError
from rc_hpc.pack import main as pack
from rc_hpc.split import main
from rc_hpc.training import splits
from rc_hpc.training.options import AuditOptions
from rc_hpc.training.split_files import read_part, read_split
from rc_hpc.training.splits import Candidate, Caps
from rc_hpc.training.splitting import audit

pytestmark = pytest.mark.long

FORMULAS = {
    "NaCl": ("Na", "Cl"),
    "TiO2": ("Ti", "O"),
    "Fe": ("Fe",),
    "MgO": ("Mg", "O"),
    "TiN": ("Ti", "N"),
    "LaN": ("La", "N"),
}


def candidates(n=600):
    names = sorted(FORMULAS)
    return [
        Candidate(
            f"mp-{k}",
            CRYSTAL_SYSTEMS[k % 7],
            names[k % len(names)],
            tuple(sorted(FORMULAS[names[k % len(names)]])),
        )
        for k in range(n)
    ]


def test_reserved_elements_are_on_one_side_only_and_caps_hold():
    train, evaluation = splits.build(candidates(), ("Ti", "La"), 23, Caps(20, 5, 100))
    assert splits.audit(train, evaluation, ("Ti", "La")).clean
    assert {len([c for c in train if c.system == system]) for system in CRYSTAL_SYSTEMS} == {20}
    assert {len([c for c in evaluation if c.system == system]) for system in CRYSTAL_SYSTEMS} == {5}
    few = splits.build(candidates(), ("Ti",), 23, Caps(0, 0, 3))
    assert all(sum(c.formula == formula for side in few for c in side) == 3 for formula in FORMULAS)


def test_a_draw_depends_on_the_seed_and_neither_on_order_nor_on_others():
    pool, caps = candidates(), Caps(20, 5)
    once = splits.build(pool, ("Ti",), 23, caps)
    assert splits.build(pool[::-1], ("Ti",), 23, caps) == once
    assert splits.build(pool, ("Ti",), 24, caps) != once
    grown = splits.build(
        [*pool, *(replace(c, id=f"new-{c.id}") for c in candidates(60))], ("Ti",), 23, caps
    )
    kept = {c.id for side in once for c in side} & {c.id for side in grown for c in side}
    assert len(kept) > 0.7 * sum(map(len, once))  # a tenth is new: it displaces about as much


def test_what_was_used_before_is_left_out_by_id_and_by_formula():
    train, evaluation = splits.build(
        candidates(), ("Ti",), 23, Caps(), frozenset({"mp-0"}), frozenset({"TiN"})
    )
    assert "mp-0" not in {c.id for c in (*train, *evaluation)} and {
        c.formula for c in evaluation
    } == {"TiO2"}


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        (
            "train_inter_eval",
            lambda train, evaluation: train.append(
                replace(evaluation[0], id="x", elements=("Mg",))
            ),
        ),
        (
            "train_reserved",
            lambda train, evaluation: train.append(Candidate("x", "cubic", "TiS", ("S", "Ti"))),
        ),
        (
            "eval_unreserved",
            lambda train, evaluation: evaluation.append(
                Candidate("x", "cubic", "CaS", ("Ca", "S"))
            ),
        ),
        (
            "eval_inter_prior",
            lambda train, evaluation: evaluation.append(
                Candidate("x", "cubic", "TiC", ("C", "Ti"))
            ),
        ),
        (
            "train_inter_prior",
            lambda train, evaluation: train.append(Candidate("x", "cubic", "CaC2", ("C", "Ca"))),
        ),
        (
            "ids_inter_prior",
            lambda train, evaluation: train.append(Candidate("used", "cubic", "CaS", ("Ca", "S"))),
        ),
    ],
)
def test_each_leak_is_found(name, spoil):
    train, evaluation = splits.build(candidates(), ("Ti",), 23, Caps(5, 5))
    before = frozenset({"used"}), frozenset({"TiC", "CaC2"})
    assert splits.audit(train, evaluation, ("Ti",), *before).clean
    spoil(train, evaluation)
    leakage = splits.audit(train, evaluation, ("Ti",), *before)
    assert not leakage.clean and [
        key for key in leakage.__dataclass_fields__ if getattr(leakage, key)
    ] == [name]


def test_spellings_of_a_formula_are_one():
    assert splits.reduced("As4Pd5Pb") == splits.reduced("PbPd5As4") == splits.reduced("Pb2Pd10As8")


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    output = tmp_path_factory.mktemp("packed") / "packed.h5"
    assert pack(["synthetic:120:6", "-o", str(output), "--progress", "none", "-q"]) in (0, 3)
    return output


@pytest.mark.filterwarnings("ignore")
def test_the_command_builds_what_it_audits(packed, tmp_path, capsys):
    folder = tmp_path / "split"
    request = ["build", str(packed), "--reserve", "8", "--eval-per-system", "4", "-o", str(folder)]
    assert main(request) == 0
    meta = json.loads((folder / "split_meta.json").read_text())
    split = read_split(folder)
    assert (
        len(split.reserved) == 8
        and meta["n_train"] == len(split.train.ids) > 7
        and meta["n_eval"] == len(split.evaluation.ids) > 7
    )
    assert (folder / "eval.ids").read_text().split() == list(split.evaluation.ids)
    assert meta["sha256"]["train.jsonl"] == split.train.sha256
    assert all(set(elements) & set(split.reserved) for elements in split.evaluation.elements)
    assert main(["audit", str(folder)]) == 0
    assert main(request) == 2 and "--overwrite" in capsys.readouterr().err
    first = (folder / "train.jsonl").read_bytes()
    assert main([*request, "--overwrite"]) == 0 and (folder / "train.jsonl").read_bytes() == first
    again = tmp_path / "again"
    assert (
        main(
            [
                "build",
                str(packed),
                "--reserve",
                ",".join(split.reserved),
                "--prior",
                str(folder / "eval.ids"),
                "-o",
                str(again),
            ]
        )
        == 0
    )
    assert not set(read_part(again / "eval.jsonl").formulas) & set(split.evaluation.formulas)
    assert main(["audit", str(again), "--prior", str(folder / "train.jsonl")]) == 3
    with open(folder / "eval.jsonl", "a") as lines:
        lines.write("\n")
    with pytest.raises(RcError, match="changed since"):
        read_split(folder)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ending", ["ids", "jsonl"])
def test_a_byte_order_mark_hides_no_structure_used_before(packed, tmp_path, ending):
    folder, again = tmp_path / "split", tmp_path / "again"
    request = ["build", str(packed), "--reserve", "8", "-q"]
    assert main([*request, "-o", str(folder)]) == 0
    used = read_part(folder / "eval.jsonl").ids[0]
    prior = tmp_path / f"prior.{ending}"
    line = used if ending == "ids" else json.dumps({"material_id": used})
    prior.write_text(f"\ufeff{line}\n\n", encoding="utf-8")
    assert main([*request, "--prior", str(prior), "-o", str(again)]) == 0
    drawn = {id_ for side in ("train", "eval") for id_ in read_part(again / f"{side}.jsonl").ids}
    assert used not in drawn
    assert main(["audit", str(again), "--prior", str(prior), "-q"]) == 0
    assert main(["audit", str(folder), "--prior", str(prior), "-q"]) == 3


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--reserve", "Xx"], "no element"),
        (["--reserve", "500"], "elements occur"),
        (["--reserve", "Og"], "0 to evaluate"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_requests_that_cannot_be_met(packed, tmp_path, capsys, more, said):
    assert main(["build", str(packed), *more, "-o", str(tmp_path / "split")]) in (1, 2)
    assert said in capsys.readouterr().err and not (tmp_path / "split").exists()


@pytest.mark.filterwarnings("ignore")
def test_the_options_written_make_the_same_split(packed, tmp_path):
    config, first, again = tmp_path / "c.toml", tmp_path / "first", tmp_path / "again"
    prior = tmp_path / "prior.ids"
    prior.write_text("mp-1\n")
    request = ["--reserve", "Ti,O,La", "--seed", "5", "--eval-per-system", "3", "-q"]
    request += ["--prior", str(prior), "--prior", str(prior)]
    arguments = ["build", str(packed), *request, "-o", str(first), "--write-config", str(config)]
    assert main(arguments) == 0
    assert main(["build", "--config", str(config), "-o", str(again), "-q"]) == 0
    for side in ("train", "eval"):
        assert (again / f"{side}.ids").read_bytes() == (first / f"{side}.ids").read_bytes()


@pytest.mark.data
def test_the_released_split_does_not_leak(shared):
    folder = shared / "data" / "e3"
    tables, leakage = audit(AuditOptions(folder, folder / "labels.json"))
    assert leakage.clean and leakage.train_inter_eval == ()
    split = read_split(folder)
    assert (len(split.train.ids), len(split.evaluation.ids)) == (1610, 210)
    assert len(split.reserved) == 13
    assert tables[1].frame["train"].tolist() == [230] * 7 + [1610, 1198]
    # every evaluation structure holds a reserved element: with others reserved, all are named
    _, other = audit(AuditOptions(folder, folder / "labels.json", ("Og",)))
    assert len(other.eval_unreserved) == 210
