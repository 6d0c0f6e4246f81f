"""One scene to its pictures, one for each camera."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from rc_hpc.core.vocabulary import Renderer
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.images.fast import FastRenderer
from rc_hpc.images.files import encode_png, picture_name
from rc_hpc.images.reference import ASE_WIDTH, AseRenderer
from rc_hpc.images.scene import Scene
from rc_hpc.images.ties import tied_pairs, tied_pixels
from rc_hpc.images.view import View, project


@dataclass(frozen=True)
class Style:
    """How scenes become picture files.

    Attributes
    ----------
    size
        Width and height of a picture, px; one number for a square.
    renderer
        What draws.
    compare
        Draw every picture with ASE too and count the pixels that differ.
    name_seed
        Text from which, with the id and the view, the file names follow.
    """

    size: int | tuple[int, int]
    renderer: Renderer = Renderer.fast
    compare: bool = False
    name_seed: str = ""


@dataclass(frozen=True)
class Picture:
    """One picture and what it shows.

    Attributes
    ----------
    camera
        Index of the camera in the protocol.
    file
        Name.
    png
        Content of the file.
    sha256, pixels_sha256
        Hex digests of the file and of the pixels.
    renderer
        What drew it.
    scene, view
        Its geometry.
    tied_pairs
        Number of pairs whose order of painting is a convention; see `rc_hpc.images.ties`.
    pixels_not_ase, largest_not_ase, tied_not_ase
        Pixels that differ from ASE's own drawing, the largest difference of a colour, of 255,
        and those of the pixels that are depth ties; -1 where that was not asked for.
    """

    camera: int
    file: str
    png: bytes
    sha256: str
    pixels_sha256: str
    renderer: Renderer
    scene: Scene
    view: View
    tied_pairs: int
    pixels_not_ase: int = -1
    largest_not_ase: int = -1
    tied_not_ase: int = -1


class Drawing:
    """Draws scenes with the cameras of a protocol, in one style."""

    def __init__(self, protocol: Protocol, style: Style):
        self.protocol, self.style = protocol, style
        self._ways: dict[Renderer, FastRenderer | AseRenderer] = {
            Renderer.fast: FastRenderer(),
            Renderer.ase: AseRenderer(),
        }

    def draw(self, id_: str, scene: Scene) -> list[Picture]:
        """The pictures of one scene, in the order of the cameras.

        Parameters
        ----------
        id_
            Its id, from which the file names follow.
        """
        return [self._picture(id_, scene, camera) for camera in range(len(self.protocol.views))]

    def _picture(self, id_: str, scene: Scene, camera: int) -> Picture:
        view = project(scene, self.protocol.rotations[camera], self.style.size)
        # ASE rescales a wide drawing; how it rounds then is not repeated in the fast path.
        way = self.style.renderer if view.width <= ASE_WIDTH else Renderer.ase
        pixels = self._ways[way].draw(scene, view)
        different, ties = {}, tied_pairs(scene, view)
        if self.style.compare:
            ase = pixels if way is Renderer.ase else self._ways[Renderer.ase].draw(scene, view)
            apart = np.abs(pixels.astype(np.int16) - ase).max(axis=2)
            different = {
                "pixels_not_ase": int(np.count_nonzero(apart)),
                "largest_not_ase": int(apart.max()),
                "tied_not_ase": int(tied_pixels(scene, view, ties, np.argwhere(apart)).sum()),
            }
        png = encode_png(pixels)
        return Picture(
            camera,
            picture_name(self.style.name_seed, id_, self.protocol.views[camera]),
            png,
            hashlib.sha256(png).hexdigest(),
            hashlib.sha256(pixels.data).hexdigest(),
            way,
            scene,
            view,
            len(ties),
            **different,
        )
