"""The protocol file of the best cameras, beside the file of a design."""

from __future__ import annotations

from math import comb
from pathlib import Path

from rc_hpc.core.errors import UsageError
from rc_hpc.core.files import write_whole
from rc_hpc.core.vocabulary import Side
from rc_hpc.geometry.camera_sets import toml_of
from rc_hpc.kinds.common.beside import Beside
from rc_hpc.kinds.design.counts import read_design
from rc_hpc.kinds.design.options import DesignOptions
from rc_hpc.store.outputs import check_not_read
from rc_hpc.store.reader import read_table

#: Structures that are named.
_NAMED = 5


class BestCameras(Beside):
    """A file for every ``--protocol``, named like the output with the ending ``.toml``."""

    @property
    def path(self) -> Path:
        """Where it goes."""
        return self.output.with_suffix(".toml")

    def check(self, options: DesignOptions, *, replace: bool) -> None:
        """Refuse a place that is read, or holds another file."""
        check_not_read(self.path, options.read)
        if self.path == self.output:
            raise UsageError(
                f"-o {self.output}: the ending .toml is that of the protocol file beside the output"
            )
        if self.path.exists() and not replace:
            raise UsageError(
                f"{self.path} exists, and the best cameras go there: --overwrite replaces it, "
                "-o names another output"
            )

    def still_there(self) -> None:
        """Write it again: it follows from the finished file."""
        self.end()

    def end(self) -> None:
        """Write it from the finished file."""
        file = read_design(self.output)
        best, options = file.design.best, file.options
        about = (
            f"Cameras found by python -m rc_hpc.sweep design, search seed {options['seed']}, "
            f"kept: {', '.join(options['keep']) or 'none'};",
            f"content hash of the design: {file.attrs['content_hash']}.",
            "Directions are those towards the viewer, in the Cartesian frame of the conventional "
            "standard cell.",
        )
        text = toml_of(self.output.stem, options["cameras"][best], about)
        write_whole(self.path, text.encode())

    def account(self) -> str:
        """Where the cameras are, and what becomes of phantoms under them."""
        read = read_table(self.output, ["structures/id", "design/split", "design/phantom_subsets"])
        design, side = read_design(self.output).design, read["design/split"]
        pairs = read["design/phantom_subsets"][:, :, 0]  # of two views
        lines = [f"{self.path}: the best cameras found, for every --protocol"]
        for what, chosen in (
            ("held out", side == Side.held_out),
            ("chosen on", (side == Side.training) | (side == Side.searched)),
        ):
            its = pairs[chosen & (pairs >= 0).any(axis=1)]
            told = [
                f"{protocol.name} {its[:, p].sum()} of {len(its) * comb(len(protocol.views), 2)}"
                for p, protocol in enumerate(design.protocols)
                if design.role(p) != "found"
            ]
            lines.append(
                f"pairs of cameras with a phantom, {len(its)} structures {what}: {', '.join(told)}"
            )
        left = read["structures/id"][pairs[:, design.best] > 0]
        if len(left):
            more = ", ..." if len(left) > _NAMED else ""
            lines.append(
                f"still with a phantom on some pair: {', '.join(left[:_NAMED])}{more} (what these "
                "cameras read of them: --table failures of a census with them)"
            )
        else:
            lines.append("no pair has a phantom under the best cameras")
        return "\n".join(lines)
