"""Whether prepared data are sent to the hosts that lack them, or made on each: by how long either takes, as measured.

Where no host has them, all make them at the same time, and nobody waits for one of them: that is never slower than one
that makes them and then sends. So sending pays where some host has them already. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf

from pgassay.fleet import messages
from pgassay.lab.forecast import LAYOUT_S_PER_GB

_GB = 1e9


class Wish(StrEnum):
    """What the user asks for."""

    AUTO = "auto"
    SENT = "sent"
    MADE = "made"


class Way(StrEnum):
    """How the hosts that lack data get them."""

    SENT = "sent"
    MADE = "made"
    THERE = "there"


@dataclass(frozen=True)
class Holding:
    """Data as one host sees them: what has to agree before they may be sent (by name), and whether they are there.

    `bytes` are those of the files where they are there, else what the load says. `made_s` is how long making them took
    here, None where it was not measured; `expected_s` is that by rules of thumb. `packed_bytes` and `packing_s` are by
    a sample, 0 where they are not there. `refusal` says why they can neither come from this host nor go to it.
    """

    host: str
    kin: Mapping[str, str]
    there: bool
    bytes: int
    expected_s: float
    made_s: float | None = None
    packed_bytes: int = 0
    packing_s: float = 0.0
    refusal: str = ""


@dataclass(frozen=True)
class Choice:
    """What is done about some data, and why, in words. `lacking` are the hosts that get them so, `source` who sends.

    `sending_s` and `making_s` are what was weighed; None where it was not.
    """

    way: Way
    why: str
    lacking: tuple[str, ...] = ()
    source: str = ""
    sending_s: float | None = None
    making_s: float | None = None


def differing(first: Holding, other: Holding) -> list[str]:
    """What does not agree, in words: `architecture (x86_64, aarch64)`."""
    return [
        f"{name} ({first.kin.get(name)}, {other.kin.get(name)})"
        for name in dict.fromkeys((*first.kin, *other.kin))
        if first.kin.get(name) != other.kin.get(name)
    ]


def source_of(holdings: Sequence[Holding]) -> Holding | None:
    """The host to send from: that has the data, and whose time for making them is known, if there is one."""
    able = [each for each in holdings if each.there and not each.refusal]
    return min(able, key=lambda each: each.made_s is None, default=None)


def refused(source: Holding, lacking: Sequence[Holding]) -> dict[str, str]:
    """Of these hosts those that cannot be sent what the source has, or would make, and why."""
    found = {}
    for each in lacking:
        different = differing(source, each)
        if source.refusal or each.refusal:
            found[each.host] = source.refusal or each.refusal
        elif different:
            found[each.host] = messages.other_kin(source.host, different)
    return found


def choose(wish: Wish, holdings: Sequence[Holding], links: Mapping[str, float]) -> Choice:
    """How the hosts that lack the data get them; a host that cannot be sent them makes its own, whatever is chosen.

    `links` are bytes a second from the source to each, as measured; 0 for one that did not answer. Raises `FleetError`
    where the user asks for sending and some host cannot be sent them.
    """
    lacking = [each for each in holdings if not each.there]
    names = tuple(each.host for each in lacking)
    source = source_of(holdings)
    if not lacking:
        return Choice(Way.THERE, messages.ALL_HAVE_IT)
    if wish is Wish.MADE:
        return Choice(Way.MADE, messages.AS_ASKED, names)
    if wish is Wish.AUTO and source is None:
        return Choice(Way.MADE, messages.NOBODY_HAS_IT, names)
    giver, takers = (source, lacking) if source is not None else (lacking[0], lacking[1:])
    out = refused(giver, takers)
    if wish is Wish.SENT:
        if out:
            raise messages.cannot_send(out)
        return Choice(Way.SENT, messages.AS_ASKED, tuple(each.host for each in takers), giver.host)
    takers = [each for each in takers if each.host not in out]
    if not takers:
        return Choice(Way.MADE, messages.of_hosts(out), names)
    sending = sending_s(giver, [links[each.host] for each in takers])
    making = max(each.expected_s for each in takers) if giver.made_s is None else giver.made_s
    why = messages.weighed(sending, making, giver.host, measured=giver.made_s is not None)
    why = f"{why}; {messages.of_hosts(out)}" if out else why
    if sending < making:
        return Choice(Way.SENT, why, tuple(each.host for each in takers), giver.host, sending, making)
    return Choice(Way.MADE, why, names, "", sending, making)


def sending_s(source: Holding, links: Sequence[float]) -> float:
    """How long it takes to pack the data once, to send them over links of so many bytes a second, and to write them.

    The source's own link serves one host after the other; the hosts write at the same time.
    """
    way = sum(source.packed_bytes / link if link > 0.0 else inf for link in links)
    return source.packing_s + way + LAYOUT_S_PER_GB * source.bytes / _GB
