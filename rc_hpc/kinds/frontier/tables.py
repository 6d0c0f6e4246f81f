"""Tables of a frontier file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rc_hpc.report.tables import DIGITS, Table, collect, partial_note, views_of

if TYPE_CHECKING:
    from rc_hpc.kinds.frontier.counts import FrontierCounts

NAMES = ("frontier", "certified", "steps", "status")
#: Those that end a run.
SUMMARY = ("frontier", "certified", "status")


def tables(counts: FrontierCounts, names=NAMES) -> list[Table]:
    """The tables of these names, with captions that say under which conditions they hold."""
    from rc_hpc.kinds.census import frames as ceilings
    from rc_hpc.kinds.frontier import frames as frontier

    sets, axes = counts.sets(), counts.axes
    conditions = f"{_conditions(counts)}; {DIGITS}"

    def by_delta():
        what = "Tolerance frontier, crystal system: R1 by delta for each reading; reconstructions with more and with fewer atoms than there are; largest point error"
        return f"{what} ({conditions})", frontier.by_delta(sets, axes)

    def certified():
        what = "Certified by delta, for all readings alike: no phantoms by acceptance, atoms of one species more than 2 delta apart; exact phantoms are those of Definition 7"
        return f"{what} ({conditions})", frontier.certified(sets, axes)

    def steps():
        what = "Structures certified with the full protocol from each delta on up to the next"
        return f"{what} ({conditions})", frontier.steps(
            counts.curves, {name: int(t.n) for name, t in sets.items()}
        )

    def status():
        return (
            "Rows by status, with the first of each; only ok rows count elsewhere (counts exact)",
            ceilings.by_status(counts.status),
        )

    makers = dict(zip(NAMES, (by_delta, certified, steps, status), strict=True))
    return collect(makers, names)


def _conditions(counts: FrontierCounts) -> str:
    options, pack, protocol = counts.options, counts.options["pack"], counts.options["protocol"]
    tiling = "x".join(str(n) for n in protocol["tiling"])
    partial = partial_note(sum(rows for rows, *_ in counts.status.values()), counts.attrs)
    return (
        f"true label at tau {pack['tau']} Å, angle tolerance {pack['angle_tolerance']} degrees, of the {options['truth']} cell; "
        f"protocol {protocol['name']}, {views_of(protocol)}, tiling {tiling}; quarantine {options['quarantine']}{partial}"
    )
