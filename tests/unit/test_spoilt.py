"""Pictures that were changed after they were drawn are told, and never read."""

import io

import numpy as np
import pytest
import read_cases as cases
from PIL import Image

from rc_hpc.images import conventions
from rc_hpc.images.fast import FastRenderer
from rc_hpc.kinds.readings.oracle import read_pictures
from rc_hpc.reader.convention import named
from rc_hpc.reader.edges import fills_of
from rc_hpc.reader.nearest import OFF, UNEVEN, nearest
from rc_hpc.reader.records import Limits
from rc_hpc.reader.spoilt import NEARLY, inexact, spoilt


def compressed(pixels):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=95)
    return np.asarray(Image.open(file).convert("RGB"))


def noisy(pixels):
    rng = np.random.default_rng(3)
    return np.clip(np.rint(pixels + rng.normal(size=pixels.shape)), 0, 255).astype(np.uint8)


def resampled(pixels):
    image = Image.fromarray(pixels)
    side = len(pixels)
    small = image.resize((side * 2 // 3, side * 2 // 3), Image.Resampling.LANCZOS)
    return np.asarray(small.resize((side, side), Image.Resampling.LANCZOS))


CHANGES = (compressed, noisy, resampled)


def naive_inexact(pixels):
    strange = flat = 0
    for i in range(2, pixels.shape[0] - 2):
        for j in range(2, pixels.shape[1] - 2):
            area = pixels[i - 2 : i + 3, j - 2 : j + 3].reshape(25, 3).astype(int)
            if np.ptp(area, axis=0).max() > NEARLY:
                continue
            middle = pixels[i - 1 : i + 2, j - 1 : j + 2].reshape(9, 3)
            if np.ptp(middle, axis=0).max():
                strange += 1
            else:
                flat += bool((middle < 255).any())
    return strange / (strange + flat) if strange + flat else 0.0


@pytest.mark.parametrize("seed", range(4))
def test_the_share_is_that_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    blocks = rng.choice([255, 120, 123, 40], (5, 6, 3), p=[0.4, 0.3, 0.2, 0.1])
    pixels = np.kron(blocks, np.ones((4, 4, 1))).astype(np.uint8)
    assert inexact(pixels) == pytest.approx(naive_inexact(pixels))
    assert inexact(np.full((9, 9, 3), 255, np.uint8)) == 0.0


@pytest.mark.parametrize("name", cases.cells())
def test_what_is_drawn_is_exact_and_what_is_changed_is_not(name):
    drawn = cases.made(name)
    assert spoilt(drawn.pictures) == ""
    assert max(map(inexact, drawn.pictures)) == 0.0
    for change in CHANGES:
        pictures = [*drawn.pictures[:2], change(drawn.pictures[2]), *drawn.pictures[3:]]
        assert spoilt(pictures).startswith("picture 3 was changed"), change.__name__


@pytest.mark.parametrize("size", [256, 768])
@pytest.mark.parametrize("name", conventions.CONVENTIONS)
def test_many_small_discs_are_not_taken_for_changed_ones(name, size):
    rng = np.random.default_rng(7)
    positions = rng.uniform(0, 12, (40, 3))
    numbers = rng.choice([1, 8, 22, 29, 56], 40)
    convention = named(name)
    scene = convention.scene(12.0 * np.eye(3), numbers, positions)
    drawn = []
    for rotation in cases.ROTATIONS:
        drawn.append(FastRenderer().draw(scene, convention.view(scene, rotation, size)))
    assert max(map(inexact, drawn)) == 0.0 and spoilt(drawn) == ""
    for change in CHANGES:
        assert spoilt([*drawn[:4], change(drawn[4])]).startswith("picture 5 was"), change.__name__


@pytest.mark.parametrize("level", ["K0", "K1"])
@pytest.mark.parametrize("change", CHANGES)
def test_changed_pictures_are_no_reading(change, level):
    drawn = cases.made("rutile")
    pictures = [np.ascontiguousarray(change(one)) for one in drawn.pictures]
    _, found = read_pictures(pictures, drawn.knowledge(level), Limits(max_tries=1))
    assert (found.status, found.certified) == ("convention", False)
    assert "was changed after it was drawn" in found.message and not len(found.species)


def naive_nearest(pixels, palette):
    """The colour of each even patch, by its middle, or None."""
    found = {}
    for i in range(1, pixels.shape[0] - 1):
        for j in range(1, pixels.shape[1] - 1):
            patch = pixels[i - 1 : i + 2, j - 1 : j + 2].reshape(9, 3).astype(float)
            far = np.linalg.norm(palette - patch.mean(axis=0), axis=1)
            if np.ptp(patch, axis=0).max() <= UNEVEN and far.min() <= OFF:
                found[i, j] = palette[far.argmin()]
    return found


def test_areas_take_the_nearest_colour_and_outlines_stay():
    drawn = cases.made("rutile").pictures[3]
    cut = np.ascontiguousarray(drawn[100:190, 100:190])
    changed = noisy(cut)
    (made,) = nearest([changed], fills_of(named("C1")))
    palette = np.concatenate((named("C1").fills[[8, 22]], [(255, 255, 255)])).astype(float)
    middles = naive_nearest(changed, palette)
    assert len(middles) > 2000
    for (i, j), colour in middles.items():
        assert (made[i, j] == colour).all()
    touched = (made != changed).any(axis=2)
    assert (made[touched][:, None] == palette).all(axis=2).any(axis=1).all()
    exact = (cut[:, :, None] == palette).all(axis=3).any(axis=2)
    assert (made[exact] == cut[exact]).all(axis=1).mean() > 0.99


@pytest.mark.parametrize("change", [noisy, compressed])
def test_what_is_read_of_the_nearest_colours_is_never_certified(change):
    drawn = cases.made("rutile")
    pictures = [np.ascontiguousarray(change(one)) for one in drawn.pictures]
    _, found = read_pictures(pictures, drawn.knowledge("K1"), Limits(), "nearest")
    assert not found.certified and "was changed after it was drawn" in found.message
    if change is noisy:
        assert found.status == "uncertified" and found.numbers[0] == 136
        crystal = found.lattice_A, found.species, found.fractional @ found.lattice_A
        assert cases.same_crystal(*crystal, (drawn.lattice, drawn.numbers, drawn.positions))
    else:
        assert found.status == "convention" and not len(found.species)


def test_exact_pictures_are_read_as_ever_where_the_nearest_colours_are_allowed():
    drawn = cases.made("rutile")
    one, two = (
        read_pictures(drawn.pictures, drawn.knowledge("K1"), Limits(), colours)[1]
        for colours in ("exact", "nearest")
    )
    assert one.certified and two.certified
    assert np.array_equal(one.fractional, two.fractional)
