"""How many hosts of a fleet must have given blocks before a verdict may end the run (`design.hosts`).

Whichever host is free takes the next block, so the first blocks may all come from one while the others prepare, hang or
are cut off. Their verdict would be that host's. So arms stay in play until enough hosts have been heard, unless the
others are gone: the journal then says how many are left, and a replay decides as the run did.
"""

from collections.abc import Mapping
from dataclasses import replace

from pgassay.analysis.verdicts import Kind, Verdict

ENOUGH = 3
"""Hosts that a run over three or more waits for. Two tell how far apart they are, but not which of them is odd."""


def asked(hosts: int) -> int:
    """How many must be heard where a run asks for this many."""
    return min(hosts, ENOUGH)


def withheld(verdicts: Mapping[str, Verdict], heard: int, wanted: int) -> Mapping[str, Verdict]:
    """The verdicts, but none settled while `heard` hosts have given blocks and `wanted` shall.

    A run on one machine names no host: nothing is withheld from it.
    """
    if not 0 < heard < wanted:
        return verdicts
    text = f"unresolved: blocks of {heard} hosts so far, and of {wanted} are wanted"
    return {
        arm: replace(each, kind=Kind.UNRESOLVED, text=text, more_blocks=wanted - heard, more_s=None)
        if each.settled
        else each
        for arm, each in verdicts.items()
    }
