"""A page of sample questions."""

import pytest
from package_cases import questions, write_package
from PIL import Image

from rc_hpc.benchmark.__main__ import main
from rc_hpc.benchmark.package import read_package
from rc_hpc.benchmark.records import STRATA
from rc_hpc.benchmark.sampling.run import choose


def test_a_question_of_each_stratum(tmp_path):
    package = read_package(write_package(tmp_path / "p", questions(4)))
    chosen = choose(package, 0)
    assert [one.stratum for one in chosen] == list(STRATA)
    assert chosen == choose(package, 0)
    assert {tuple(one.id for one in choose(package, seed)) for seed in range(9)} > {
        tuple(one.id for one in chosen)
    }
    few = read_package(write_package(tmp_path / "q", questions(2, ("Q3", "Q5"))))
    assert [one.stratum for one in choose(few, 0)] == ["Q3", "Q5"]


@pytest.mark.long
def test_the_page_is_the_same_each_time(tmp_path, capsys):
    root = write_package(tmp_path / "p", questions(2, ("Q4", "Q6")))
    for folder in ("a", "b"):
        assert main(["samples", str(root), "-o", str(tmp_path / folder)]) == 0
    for name in ("samples.png", "samples.pdf"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    told = capsys.readouterr().out
    assert "samples.pdf: q4-000" in told
    with Image.open(tmp_path / "a/samples.png") as page:
        seen = page.convert("RGB")
        colours = {colour for _, colour in seen.getcolors(1 << 24)}
    package = read_package(root)
    for one in choose(package, 0):
        for entry in one.image_paths:
            with Image.open(package.picture(entry)) as picture:
                assert picture.getpixel((0, 0)) in colours


def test_a_picture_that_is_none(tmp_path, capsys):
    root = write_package(tmp_path / "p", questions(1, ("Q6",)))
    package = read_package(root)
    package.picture(package.questions[0].image_paths[0]).write_bytes(b"no picture")
    assert main(["samples", str(root), "-o", str(tmp_path / "a")]) == 1
    assert "is no picture that can be read" in capsys.readouterr().err
