"""The protocol file of the best cameras, beside the file of a design."""

from __future__ import annotations

import logging
from pathlib import Path

from rc_hpc.core.errors import UsageError
from rc_hpc.core.files import write_whole
from rc_hpc.geometry.camera_sets import toml_of
from rc_hpc.kinds.common.beside import Beside
from rc_hpc.kinds.design.counts import read_design
from rc_hpc.kinds.design.options import DesignOptions
from rc_hpc.store.outputs import check_not_read

log = logging.getLogger("rc_hpc")


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
        log.info("%s: the best cameras, for --protocol", self.path)
