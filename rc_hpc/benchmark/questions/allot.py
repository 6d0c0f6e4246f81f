"""Quotas: how many questions of each group are asked of each base structure."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import pairwise

import numpy as np


def allot(
    most: Mapping[str, int],
    available: Mapping[tuple[str, str], int],
    total: int,
    per_structure: int,
    rng: np.random.Generator,
) -> dict[tuple[str, str], int]:
    """Numbers of each group and structure, as even as what is available allows.

    The largest flow from groups to structures (augmenting paths), while what a structure may
    carry grows by one from 1 to `per_structure`, and the emptiest group goes first. So no
    structure carries two where another could carry its first.

    Parameters
    ----------
    most
        Of each group at most.
    available
        Of each group and structure.
    total
        In all; fewer come out where there are not so many.
    """
    groups = list(most)
    structures = sorted({structure for _, structure in available})
    order = [structures[k] for k in rng.permutation(len(structures))]
    open_to = {group: [s for s in order if available.get((group, s), 0) > 0] for group in groups}
    flow: dict[tuple[str, str], int] = dict.fromkeys(available, 0)
    of_group = dict.fromkeys(groups, 0)
    carried = dict.fromkeys(structures, 0)
    for limit in range(1, per_structure + 1):
        stuck: set[str] = set()
        while sum(of_group.values()) < total:
            waiting = [g for g in groups if g not in stuck and of_group[g] < most[g]]
            if not waiting:
                break
            group = min(waiting, key=lambda g: (of_group[g] / most[g], groups.index(g)))
            path = _path(group, groups, open_to, available, flow, carried, limit)
            if path is None:
                stuck.add(group)
                continue
            for step, (one, structure) in enumerate(path):
                flow[one, structure] += -1 if step % 2 else 1
            of_group[group] += 1
            carried[path[-1][1]] += 1
        if sum(of_group.values()) == total or max(carried.values(), default=0) < limit:
            break  # nothing is wanted, or no structure waits for more room
    return {cell: number for cell, number in flow.items() if number}


def _path(start, groups, open_to, available, flow, carried, limit):
    """Cells whose flow grows and shrinks in turn, so that `start` and a structure gain one."""
    came = {("g", start): None}
    waiting = deque([("g", start)])
    while waiting:
        kind, name = node = waiting.popleft()
        if kind == "s" and carried[name] < limit:
            return _cells(node, came)
        if kind == "g":
            reached = [("s", s) for s in open_to[name] if flow[name, s] < available[name, s]]
            reached.sort(key=lambda other: carried[other[1]])
        else:
            reached = [("g", g) for g in groups if flow.get((g, name), 0) > 0]
        for other in reached:
            if other not in came:
                came[other] = node
                waiting.append(other)
    return None


def _cells(node, came) -> list[tuple[str, str]]:
    nodes = []
    while node is not None:
        nodes.append(node)
        node = came[node]
    nodes.reverse()
    return [(a[1], b[1]) if a[0] == "g" else (b[1], a[1]) for a, b in pairwise(nodes)]
