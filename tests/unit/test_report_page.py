"""The report page: whole in one file, and in a real browser."""

import base64
import gzip
import hashlib
import json
import re
import shutil
from html import unescape

import h5py
import numpy as np
import pandas as pd
import pytest
from ase.build import bulk
from test_show import QUARTZ

from rc_hpc.census import main as census
from rc_hpc.core.errors import Exit
from rc_hpc.kinds.census.coincidence import coincidences
from rc_hpc.kinds.census.from_file import read_computed
from rc_hpc.kinds.census.page import LEAST_POWER, coded
from rc_hpc.kinds.common.atoms import packed_of
from rc_hpc.report.__main__ import main
from rc_hpc.report.page import Picture, Section, Structures, assemble
from rc_hpc.report.tables import Table

CHROMIUM = shutil.which("chromium")
TYPES = {"u1": np.uint8, "u2": np.uint16, "i4": np.int32, "u4": np.uint32, "f4": np.float32}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    QUARTZ.write(folder / "quartz.cif")
    bulk("NaCl", "rocksalt", a=5.64).write(folder / "salt.cif")
    bulk("Cu", "fcc", a=3.6).write(folder / "<b>copper&.cif")
    (folder / "broken.cif").write_text("data_x\n")
    output = folder / "mine.h5"
    assert census([f"{folder}/*.cif", "-o", str(output), "-q"]) == Exit.FAILURES
    return output


@pytest.fixture(scope="module")
def page(file, tmp_path_factory):
    output = tmp_path_factory.mktemp("html") / "report.html"
    assert main([str(file), str(file.with_name("mine.packed.h5")), "-o", str(output)]) == Exit.CLEAN
    return output


def columns(file):
    with h5py.File(file, locking=False) as h5:
        ids = list(h5["structures/id"].asstr())
        names = list(h5["subsets/name"].asstr())
        phantoms, right = h5["cells/n_phantoms"][()], h5["cells/correct_crystal_system"][()]
    return ids, names, phantoms, right


def rays(file, row, subset):
    """Which atoms' rays meet in the phantoms of a structure, as `show` names them."""
    computed = read_computed(file, packed_of(file, None), columns(file)[0][row])
    atoms, phantoms = computed.packed.child("atoms", 0), computed.phantoms_on([0], subset)
    cell = (computed.protocol, atoms["position"], atoms["number"])
    return [
        " and ".join(
            f"{computed.protocol.views[camera]} sees {one.element} {atoms[0] + 1}"
            for camera, atoms in zip(one.cameras, one.atoms, strict=True)
        )
        for one in coincidences(*cell, phantoms)
    ]


def payload(page):
    (text,) = re.findall(r'<script type="text/plain" data-file="[^"]*">([^<]*)</script>', page)
    raw = gzip.decompress(base64.b64decode(text))
    length = int.from_bytes(raw[:4], "little")
    head = json.loads(raw[4 : 4 + length])
    arrays = {}
    for name, (kind, start, count) in head["arrays"].items():
        width = np.dtype(TYPES[kind]).itemsize
        planes = np.frombuffer(raw, np.uint8, count * width, 4 + length + start)
        arrays[name] = planes.reshape(width, count).T.copy().view(TYPES[kind]).reshape(-1)
    return head["plain"], arrays


def test_structures_of_the_page_are_those_of_the_file(file, page):
    ids, names, phantoms, right = columns(file)
    plain, arrays = payload(page.read_text())
    assert plain["id"] == ids and plain["subsets"] == names
    shown = arrays["phantoms"].reshape(phantoms.shape)
    done = np.array(plain["status"]) == "ok"
    np.testing.assert_array_equal(shown[done], phantoms[done])
    np.testing.assert_array_equal(arrays["right"].reshape(right.shape)[done] == 1, right[done])
    assert phantoms.max() > 0
    points, pairs = (
        np.concatenate([[0], np.cumsum(arrays[name], dtype=int)]) for name in ("nPoints", "nPairs")
    )
    for row, k in np.ndindex(phantoms.shape):
        mask, drawn = plain["masks"][k], 0
        for point in range(points[row], points[row + 1]):
            its = slice(pairs[point], pairs[point + 1])
            inside = (arrays["pair"][its] & mask) == arrays["pair"][its]
            drawn += bool((inside & ((arrays["seen"][its] & mask) == mask)).any())
        assert drawn == max(phantoms[row, k], 0)


def test_places_of_the_page_are_those_of_the_atoms(file, page):
    plain, arrays = payload(page.read_text())
    first = np.concatenate([[0], np.cumsum(arrays["atoms"], dtype=int)])
    with h5py.File(file.with_name("mine.packed.h5"), locking=False) as h5:
        owner, position = h5["atoms/structure"][()], h5["atoms/position"][()]
    steps, low = arrays["positions"].reshape(3, -1).T, arrays["low"].reshape(-1, 3)
    for row in range(len(plain["id"])):
        placed = low[row] + arrays["step"][row] * steps[first[row] : first[row + 1]]
        own = position[owner == row]
        np.testing.assert_allclose(placed, own, atol=max(arrays["step"][row], 1e-3))
        assert len(own) == arrays["atoms"][row]


def test_lengths_of_the_page_are_three_digits_rounded_down():
    rng = np.random.default_rng(0)
    lengths = np.concatenate([10 ** rng.uniform(-11, 3, 500), [0.01, 0.5, 1, 9.99, 0.00396, 1e-12]])
    codes = coded(lengths).astype(int) - 1
    read = (codes % 900 + 100) * 10.0 ** (codes // 900 + LEAST_POWER - 2)
    assert (read <= lengths * (1 + 1e-11)).all() and (read >= 0.99 * lengths).all()
    np.testing.assert_allclose(read[-6:], lengths[-6:], rtol=1e-12)
    assert coded(np.array([0.0, 1e-13])).tolist() == [0, 0]


def test_it_loads_nothing_and_lets_nothing_else_run(page):
    text = page.read_text()
    assert not re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', text)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    for told, content in (("style", style), ("script", script)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{told}-src 'sha256-{digest}'" in text
    assert "default-src 'none'" in text


def test_failing_structures_are_named(page):
    text = page.read_text()
    of_census, of_packed = re.findall(r'<p class="failing">(.*?)</p>', text)
    assert of_census == (
        "Of 4 structures 4 are listed, the worst first: 1 refused, 1 read as another crystal "
        "system by some view subset, 2 right and certified on all cameras but not on some fewer. "
        'By name: <a href="#broken.cif" data-place="0">broken.cif</a>, '
        '<a href="#quartz.cif" data-place="0">quartz.cif</a>, '
        '<a href="#%3Cb%3Ecopper%26.cif" data-place="0">&lt;b&gt;copper&amp;.cif</a>, '
        '<a href="#salt.cif" data-place="0">salt.cif</a>.'
    )
    assert "mine.packed.h5</b>: 4 structures: " in text and "3 ok" in text and "1 empty" in text
    assert of_packed == "Of 4 structures 1 is listed: 1 refused. By name: broken.cif."
    many = Section(
        "a.h5", "Fine.", (), (), {}, [f"<{k}>" for k in range(12)], "Of 30 questions 12."
    )
    (told,) = re.findall(r'<p class="failing">(.*?)</p>', assemble("t", [many]))
    assert told.startswith("Of 30 questions 12. By name: &lt;0&gt;, ") and told.endswith(
        "&lt;9&gt; and 2 more."
    )
    empty = Structures({}, {})
    several = [Section("b.h5", "", (), (), {}, ["x"], "1.", empty) for _ in range(2)]
    assert re.findall(r'href="#x" data-place="(\d)"', assemble("t", [many, *several])) == ["0", "1"]
    none = Section("a.h5", "Fine.", (), (), {})
    assert '<p class="failing">' not in assemble("t", [none])
    unsaid = Section("a.h5", "", (), (), {}, ["x"], "Of 2 structures 1.")
    assert "<b>a.h5</b></p>" in assemble("t", [unsaid])


def test_texts_of_others_are_no_markup():
    evil = "<script>alert(1)</script>@STYLE@ & \"'"
    table = Table("t", evil, pd.DataFrame({evil: [evil]}), evil)
    picture = Picture(evil, evil, b"<svg/>")
    text = assemble(evil, [Section(evil, evil, [table], [picture], {evil: evil})])
    assert "<script>alert" not in text and text.count("<script>") == 1
    assert unescape(text).count("alert(1)") >= 8 and "@STYLE@" in text


def test_the_same_results_give_the_same_page(file, page, tmp_path):
    again = tmp_path / "report.html"
    asked = [str(file), str(file.with_name("mine.packed.h5")), "-o", str(again)]
    assert main(asked) == Exit.CLEAN
    assert again.read_bytes() == page.read_bytes()
    assert main(asked) == Exit.USAGE  # it is there already


def test_without_its_atoms_it_says_which_file_is_missing(file, tmp_path, capsys):
    (tmp_path / "moved.h5").write_bytes(file.read_bytes())
    assert main([str(tmp_path / "moved.h5"), "-o", str(tmp_path / "r.html")]) == Exit.USAGE
    assert "--packed" in capsys.readouterr().err


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM:
        pytest.skip("no chromium (Debian's package) on this machine")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def tab(browser, page):
    tab = browser.new_page(viewport={"width": 1300, "height": 900})
    problems = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("console", lambda told: told.type == "error" and problems.append(told.text))
    own = ("file:", "data:", "blob:")
    tab.on("request", lambda asked: asked.url.startswith(own) or problems.append(asked.url))
    tab.goto(page.as_uri())
    tab.wait_for_selector("body[data-ready=yes]")
    yield tab
    assert not problems
    tab.close()


@pytest.mark.long
class TestInABrowser:
    def rows(self, tab):
        return [row.inner_text().split("\n") for row in tab.query_selector_all(".row")]

    def test_a_name_leads_to_the_list_of_its_own_file(self, browser, file, tmp_path):
        other, page = tmp_path / "off.h5", tmp_path / "two.html"
        packed = file.with_name("mine.packed.h5")
        census([str(packed), "--protocol", "off-axis", "-o", str(other), "-q"])
        assert main([str(file), str(other), "--packed", str(packed), "-o", str(page)]) == Exit.CLEAN
        tab = browser.new_page(viewport={"width": 1300, "height": 900})
        tab.goto(page.as_uri())
        tab.wait_for_selector("body[data-ready=yes]")
        own = [int(np.maximum(columns(one)[2], 0).sum()) for one in (file, other)]
        assert own[0] != own[1]
        for place in (1, 0, 1):
            tab.click("#to-overview")
            tab.click(f'a[data-place="{place}"][href="#broken.cif"]')
            tab.wait_for_selector("#one h2")
            assert "broken.cif" in tab.inner_text("#one h2")
            assert tab.input_value("#file") == str(place)
            assert tab.evaluate("data.phantoms.reduce((a, b) => a + b)") == own[place]
        tab.close()

    def test_list_search_and_sort(self, tab, file):
        ids, names, phantoms, _ = columns(file)
        tab.click("#to-structures")
        assert sorted(row[0] for row in self.rows(tab)) == sorted(ids)
        # what fails comes first, the worst first: the refused, then the wrong; then by id
        assert [row[0] for row in self.rows(tab)] == [
            "broken.cif",
            "quartz.cif",
            "<b>copper&.cif",
            "salt.cif",
        ]
        assert "4 of 4 structures" in tab.inner_text("#count")
        for query, wanted in (
            ("copper", ["<b>copper&.cif"]),
            ("atoms<9 status:ok", ["<b>copper&.cif", "salt.cif"]),
            ("phantoms>0 sio2", ["quartz.cif"]),
            ("wrong:axis_c+axis_b", ["quartz.cif"]),
            ("status:empty", ["broken.cif"]),
            ("sg:225", ["<b>copper&.cif", "salt.cif"]),
            ("nothing", []),
        ):
            tab.fill("#search", query)
            assert sorted(row[0] for row in self.rows(tab)) == wanted, query
        tab.fill("#search", "")
        tab.click("#heads button:has-text('phantoms')")
        tab.click("#heads button:has-text('phantoms')")
        pairs = [k for k, name in enumerate(names) if name.count("+") == 1]
        most = phantoms[:, pairs].max(axis=1).argmax()
        assert self.rows(tab)[0][0] == ids[most]

    def test_a_structure_with_its_phantoms_in_every_pair(self, tab, file):
        ids, names, phantoms, right = columns(file)
        row = ids.index("quartz.cif")
        tab.click("#to-structures")
        tab.click(".row:has-text('quartz.cif')")
        legend = tab.query_selector_all("#one .legend span")
        assert [one.inner_text().strip() for one in legend] == ["O", "Si"]
        own = [one.query_selector("circle").get_attribute("fill") for one in legend]
        drawn = tab.query_selector_all("#views svg circle:not(.ring)")
        assert {one.get_attribute("fill") for one in drawn} == set(own) and len(set(own)) == 2
        # at one scale: an element has one radius in all views
        radii = {(one.get_attribute("fill"), one.get_attribute("r")) for one in drawn}
        assert len(radii) == 2
        for place, name in enumerate(names):
            tab.click(f"#subsets tbody tr:nth-child({place + 1}) button")
            words = tab.inner_text("#one")
            assert f"{name} reads {'the true' if right[row, place] else 'another'}" in words
            for view in tab.query_selector_all("#views svg"):
                assert len(view.query_selector_all("path.phantom")) == phantoms[row, place]
            faded = len(tab.query_selector_all("#views .faded"))
            assert faded == 5 - name.count("+") - 1

    def test_the_panel_says_what_each_subset_reads_and_which_rays_meet(self, tab, file):
        ids, names, phantoms, right = columns(file)
        row = ids.index("quartz.cif")
        with h5py.File(file, locking=False) as h5:
            groups = h5["cells/space_group"][row]
            below, certified = h5["cells/phantom_delta"][row], h5["cells/certified"][row]
            least = min(h5["structures/min_same_species"][row] / 2, h5["structures/delta_max"][row])
        tab.click("#to-structures")
        tab.click(".row:has-text('quartz.cif')")
        told = tab.eval_on_selector_all("#subsets tbody tr", "all => all.map(r => r.innerText)")
        for place, name in enumerate(names):
            cells = told[place].replace("\u200b", "").split("\t")
            assert cells[0].strip() == name and int(cells[2]) == phantoms[row, place]
            assert (f"({groups[place]})" in cells[1]) or groups[place] == 0
            assert ("wrong" in cells[1]) != right[row, place]
            limit = float(cells[3].removesuffix(" Å").replace("no delta", "0"))
            exact = min(below[place], least) if below[place] > 1e-9 else 0
            assert limit <= exact * (1 + 1e-9) and limit >= exact * 0.99
        assert not right[row].all()
        all_cameras = tab.inner_text("#one p:has-text('all 5 cameras')")
        assert f"{'' if certified[-1] else 'not '}certified at delta 0.01 Å" in all_cameras
        for pair in ("axis_b+axis_c", "axis_a+axis_b"):
            tab.click(f"#subsets tbody tr:nth-child({names.index(pair) + 1}) button")
            listed = tab.eval_on_selector_all("#phantoms li", "all => all.map(r => r.innerText)")
            assert sorted(one.split(":")[0] for one in listed) == sorted(rays(file, row, pair))
            tab.click("#phantoms li:last-child button")
            assert tab.get_attribute("#phantoms li:last-child button", "aria-pressed") == "true"
            # a white and a black ring in each of two views
            assert len(tab.query_selector_all("#views svg .ring")) == 4

    def test_tables_of_the_panel_fit_or_scroll(self, tab):
        tab.click("#to-structures")
        tab.click(".row:has-text('quartz.cif')")
        for width in (1300, 900, 420):
            tab.set_viewport_size({"width": width, "height": 900})
            for box in tab.query_selector_all("#one .scroll, .table"):
                shown = "e => [e.scrollWidth > e.clientWidth, getComputedStyle(e).overflowX]"
                wide, overflow = box.evaluate(shown)
                assert not wide or overflow == "auto"
            assert tab.evaluate("document.getElementById('one').scrollWidth") <= width

    def test_without_phantoms_all_cameras_are_chosen(self, tab, file):
        _, names, phantoms, _ = columns(file)
        row = "data.subsets[worst(data.id.indexOf('quartz.cif'))]"
        assert tab.evaluate(row) == names[phantoms[columns(file)[0].index("quartz.cif")].argmax()]
        tab.evaluate("data.phantoms.fill(0); data.right.fill(1)")
        assert tab.evaluate(row) == max(names, key=len)

    def test_a_refused_one_and_the_keyboard(self, tab):
        tab.click("#to-structures")
        tab.focus("#rows")
        seen = []
        for _ in range(4):
            tab.keyboard.press("ArrowDown")
            seen.append(tab.inner_text("#one h2").split(": ")[0])
        assert len(set(seen)) == 4
        tab.click(".row:has-text('broken.cif')")
        assert "status: empty" in tab.inner_text("#one")

    def test_a_link_opens_a_structure(self, browser, page):
        tab = browser.new_page()
        tab.goto(f"{page.as_uri()}#{'%3Cb%3Ecopper%26.cif'}")
        tab.wait_for_selector("body[data-ready=yes]")
        assert tab.inner_text("#one h2").startswith("<b>copper&.cif")
        tab.close()

    def test_narrow_and_printed(self, tab):
        tab.set_viewport_size({"width": 420, "height": 800})
        tab.click("#to-structures")
        tab.click(".row:has-text('salt.cif')")
        wide = tab.evaluate("document.documentElement.scrollWidth")
        assert wide <= 420
        tab.emulate_media(media="print")
        assert not tab.is_visible("#list") and tab.is_visible("#one h2")

    def test_numbers_are_those_of_the_tables(self, tab, file, capsys):
        from rc_hpc.tables import main as tables

        assert tables([str(file), "--table", "reference", "--format", "csv"]) == Exit.CLEAN
        frame = pd.read_csv(pd.io.common.StringIO(capsys.readouterr().out))
        cells = tab.eval_on_selector_all(
            "h3:has-text('reference') + .table tbody tr", "rows => rows.map(r => r.innerText)"
        )
        assert len(cells) == len(frame)
        for told, (_, row) in zip(cells, frame.iterrows(), strict=True):
            if not np.isnan(row["count"]):
                assert f"{row['count']:.0f}/{row['n']:.0f}" in told
