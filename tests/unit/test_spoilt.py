"""Pictures that were changed after they were drawn are told, and never read."""

import io

import numpy as np
import pytest
import read_cases as cases
from PIL import Image

from rc_hpc.kinds.readings.oracle import read_pictures
from rc_hpc.reader.records import Limits
from rc_hpc.reader.spoilt import NEARLY, inexact, least_share, spoilt


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
    for i in range(1, pixels.shape[0] - 1):
        for j in range(1, pixels.shape[1] - 1):
            patch = pixels[i - 1 : i + 2, j - 1 : j + 2].reshape(9, 3).astype(int)
            spread = int(np.ptp(patch, axis=0).max())
            if spread == 0:
                flat += bool((patch < 255).any())
            elif spread <= NEARLY:
                strange += 1
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
    assert max(map(inexact, drawn.pictures)) < 0.9 * least_share(384)
    for change in CHANGES:
        pictures = [*drawn.pictures[:2], change(drawn.pictures[2]), *drawn.pictures[3:]]
        assert spoilt(pictures).startswith("picture 3 was changed"), change.__name__


@pytest.mark.parametrize("level", ["K0", "K1"])
@pytest.mark.parametrize("change", CHANGES)
def test_changed_pictures_are_no_reading(change, level):
    drawn = cases.made("rutile")
    pictures = [np.ascontiguousarray(change(one)) for one in drawn.pictures]
    _, found = read_pictures(pictures, drawn.knowledge(level), Limits(max_tries=1))
    assert (found.status, found.certified) == ("convention", False)
    assert "was changed after it was drawn" in found.message and not len(found.species)
