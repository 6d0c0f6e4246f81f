"""One structure to its pictures, one for each camera."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from rc_hpc.geometry.protocol import Protocol
from rc_hpc.images.fast import FastRenderer
from rc_hpc.images.files import encode_png, picture_name
from rc_hpc.images.reference import ASE_WIDTH, AseRenderer
from rc_hpc.images.scene import Scene, View, build_scene, project
from rc_hpc.images.ties import tied_pairs
from rc_hpc.kinds.renders.options import RenderOptions


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
        What drew it: `fast` or `ase`.
    scene, view
        Its geometry.
    tied_pairs
        Number of pairs whose order of painting is a convention; see `rc_hpc.images.ties`.
    pixels_not_ase, largest_not_ase
        Pixels that differ from ASE's own drawing, and the largest difference of a colour, of
        255; -1 where that was not asked for.
    """

    camera: int
    file: str
    png: bytes
    sha256: str
    pixels_sha256: str
    renderer: str
    scene: Scene
    view: View
    tied_pairs: int
    pixels_not_ase: int = -1
    largest_not_ase: int = -1


class Drawing:
    """Draws structures with the cameras of a protocol, in the options' way."""

    def __init__(self, protocol: Protocol, options: RenderOptions):
        self.protocol, self.options = protocol, options
        self._fast, self._ase = FastRenderer(options.size), AseRenderer(options.size)

    def draw(self, id_: str, lattice, numbers, positions) -> list[Picture]:
        """The pictures of one conventional cell, in the order of the cameras.

        Parameters
        ----------
        id_
            Its id, from which the file names follow.
        lattice : (3, 3) array_like
            Rows, Å.
        numbers : (n,) array_like
            Atomic numbers.
        positions : (n, 3) array_like
            Å.
        """
        scene = build_scene(
            lattice, numbers, positions, self.protocol.tiling, self.options.radii_factor
        )
        return [self._picture(id_, scene, camera) for camera in range(len(self.protocol.views))]

    def _picture(self, id_: str, scene: Scene, camera: int) -> Picture:
        view = project(scene, self.protocol.rotations[camera], self.options.size)
        # ASE rescales a wide drawing; how it rounds then is not repeated in the fast path.
        fast = self.options.renderer == "fast" and view.width <= ASE_WIDTH
        pixels = (self._fast if fast else self._ase).draw(scene, view)
        different = {}
        if self.options.compare:
            apart = np.abs(
                pixels.astype(np.int16) - (self._ase.draw(scene, view) if fast else pixels)
            ).max(axis=2)
            different = {
                "pixels_not_ase": int(np.count_nonzero(apart)),
                "largest_not_ase": int(apart.max()),
            }
        png = encode_png(pixels)
        return Picture(
            camera,
            picture_name(self.options.name_seed, id_, self.protocol.views[camera]),
            png,
            hashlib.sha256(png).hexdigest(),
            hashlib.sha256(pixels.tobytes()).hexdigest(),
            "fast" if fast else "ase",
            scene,
            view,
            len(tied_pairs(scene, view)),
            **different,
        )
