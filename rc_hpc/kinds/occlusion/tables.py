"""Tables of an occlusion file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rc_hpc.report.tables import DIGITS, Table, collect, partial_note

if TYPE_CHECKING:
    from rc_hpc.kinds.occlusion.counts import OcclusionCounts

NAMES = ("occlusion", "visibility", "sites", "status")
#: Those that end a run.
SUMMARY = ("occlusion", "visibility", "status")


def tables(counts: OcclusionCounts, names=NAMES) -> list[Table]:
    """The tables of these names, with captions that say under which conditions they hold."""
    from rc_hpc.kinds.census import frames as ceilings
    from rc_hpc.kinds.occlusion import frames as occlusion

    sets, axes = counts.sets(), counts.axes
    conditions = f"{_conditions(counts)}; {DIGITS}"

    def by_condition():
        what = (
            "Occlusion, crystal system: R1 by what is taken away (O0 nothing, O1 informative, O2 all, O3 redundant occlusion) and by reading; "
            "reconstructions with as many, more and fewer atoms than there are; largest point error"
        )
        return f"{what} ({conditions})", occlusion.by_condition(sets, axes)

    def visibility():
        what = "Share of the drawn atoms whose centre a nearer disc hides, mean over structures; redundant: by one of their own orbit"
        return f"{what} ({conditions})", occlusion.by_view(sets, axes)

    def sites():
        what = "Atoms of the cells by the views that show a copy of them: all, fewer than two, none; hidden counts atoms in each view of the protocol"
        return f"{what} ({conditions})", occlusion.by_sites(sets, axes)

    def status():
        return (
            "Rows by status, with the first of each; only ok rows count elsewhere (counts exact)",
            ceilings.by_status(counts.status),
        )

    makers = dict(zip(NAMES, (by_condition, visibility, sites, status), strict=True))
    return collect(makers, names)


def _conditions(counts: OcclusionCounts) -> str:
    options, pack, protocol = counts.options, counts.options["pack"], counts.options["protocol"]
    tiling = "x".join(str(n) for n in protocol["tiling"])
    partial = partial_note(sum(rows for rows, *_ in counts.status.values()), counts.attrs)
    return (
        f"delta {options['delta']} Å, tau {pack['tau']} Å, angle tolerance {pack['angle_tolerance']} degrees, true label: {options['truth']} cell; "
        f"protocol {protocol['name']}, {len(protocol['views'])} views, pictures of {tiling} cells, radii {options['radii_factor']} of the covalent; "
        f"quarantine {options['quarantine']}{partial}"
    )
