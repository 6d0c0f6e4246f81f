"""Discs of elements that are one grey in print are told apart by glyphs."""

from itertools import combinations

import numpy as np
from ase.data.colors import jmol_colors
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.kinds.common.picture import draw_atoms, element_handles, glyph_corners, glyphs


@given(st.lists(st.integers(1, 96), min_size=1, max_size=6, unique=True))
def test_elements_of_one_grey_have_glyphs_of_their_own(elements):
    of_number = glyphs(np.array(elements))
    greys = {n: jmol_colors[n] @ (0.299, 0.587, 0.114) for n in elements}
    for a, b in combinations(elements, 2):
        assert of_number[a] != of_number[b] or abs(greys[a] - greys[b]) >= 0.15
    handles = element_handles(np.array(elements), with_glyphs=True)
    marked = [not isinstance(one.get_marker(), str) for one in handles]
    assert marked == [of_number[n] > 0 for n in sorted(elements)]


def test_glyphs_differ_and_lie_within_the_disc():
    shapes = [tuple(np.round(glyph_corners(glyph), 6).ravel()) for glyph in range(6)]
    assert len(set(shapes)) == 6 and shapes[0] == ()
    for shape in shapes[1:]:
        assert np.hypot(*np.reshape(shape, (-1, 2)).T).max() < 1


def test_a_glyph_is_drawn_upon_its_own_disc_alone():
    """Bromine and lead are nearly one grey: the larger disc, of lead, has the glyph."""
    assert glyphs(np.array([35, 82])) == {35: 0, 82: 1}
    positions = np.array([[0.0, 0, 0], [3.0, 2.0, 1.0]])
    figure = draw_atoms(load_protocol("frozen"), positions, np.array([35, 82]))
    for ax in figure.axes[:5]:
        (discs,) = ax.collections
        colours = [tuple(one[:3]) for one in discs.get_facecolor()]
        glyph = colours.index(to_rgb("white"))
        assert len(colours) == 3 and colours[glyph - 1] == tuple(jmol_colors[82])
        middles = [path.vertices[:-1].mean(axis=0) for path in discs.get_paths()]
        np.testing.assert_allclose(middles[glyph], middles[glyph - 1], atol=0.2)
