"""Whether prepared data or a build are sent to the hosts that lack them, or made on each: by how long either takes, as
measured.

Where no host has them, all make them at the same time, and nobody waits for one of them: that is never slower than one
that makes them and then sends. So sending pays where some host has them already. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf

import msgspec

from pgassay.fleet import messages
from pgassay.fleet.messages import DATA, Goods
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
    """Data or a build as one host sees them: what has to agree before they may be sent, and whether they are there.

    `kin` is what has to agree, by name; what only one of two hosts says is not compared.

    `bytes` are those of the files where they are there, else what the load says. `made_s` is how long making them took
    here, None where it was not measured; `expected_s` is that by rules of thumb. `packed_bytes` and `packing_s` are by
    a sample, 0 where they are not there. `refusal` says why they can neither come from this host nor go to it. Not
    `able` is a host that could not make them: it has no compiler.
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
    able: bool = True


class Seen(msgspec.Struct, frozen=True):
    """What a host answers to a look: one of the things asked for (`item`), what it is in words, where pieces go."""

    item: str
    what: str
    store: str
    holding: Holding


class Made(msgspec.Struct, frozen=True):
    """What was done on a host: how long it took, in seconds."""

    seconds: float


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
        f"{name} ({first.kin[name]}, {other.kin[name]})"
        for name in first.kin
        if name in other.kin and first.kin[name] != other.kin[name]
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


def choose(wish: Wish, holdings: Sequence[Holding], links: Mapping[str, float], goods: Goods = DATA) -> Choice:
    """How the hosts that lack something get it; a host that cannot be sent it makes its own, whatever is chosen.

    `links` are bytes a second from the source to each, as measured; 0 for one that did not answer. Raises `FleetError`
    where the user asks for sending and some host cannot be sent it.
    """
    lacking = [each for each in holdings if not each.there]
    names = tuple(each.host for each in lacking)
    source = source_of(holdings)
    if not lacking:
        return Choice(Way.THERE, messages.all_have(goods))
    if wish is Wish.MADE:
        return Choice(Way.MADE, messages.AS_ASKED, names)
    kept = {each.host: each.refusal for each in holdings if each.there}
    makers = [each for each in lacking if each.able]
    if wish is Wish.AUTO and source is None and (kept or len(makers) in (0, len(lacking))):
        return Choice(Way.MADE, messages.cannot_give(kept) if kept else messages.nobody_has(goods), names)
    giver = source or min(makers or lacking, key=lambda each: bool(each.refusal))
    takers = [each for each in lacking if each is not giver]
    out = refused(giver, takers)
    if wish is Wish.SENT:
        if out:
            raise messages.cannot_send(goods, out)
        return Choice(Way.SENT, messages.AS_ASKED, tuple(each.host for each in takers), giver.host)
    takers = [each for each in takers if each.host not in out]
    own = f"; {messages.of_hosts(out)}" if out else ""
    chosen = tuple(each.host for each in takers)
    if unable := [each.host for each in takers if not each.able]:
        return Choice(Way.SENT, messages.cannot_make(unable) + own, chosen, giver.host)
    if source is None or not takers:
        return Choice(Way.MADE, messages.of_hosts(out), names)
    sending = sending_s(giver, [links[each.host] for each in takers])
    making = max(each.expected_s for each in takers) if giver.made_s is None else giver.made_s
    why = messages.weighed(sending, making, giver.host, measured=giver.made_s is not None) + own
    if sending < making:
        return Choice(Way.SENT, why, chosen, giver.host, sending, making)
    return Choice(Way.MADE, why, names, "", sending, making)


def sending_s(source: Holding, links: Sequence[float]) -> float:
    """How long it takes to pack the data once, to send them over links of so many bytes a second, and to write them.

    The source's own link serves one host after the other; the hosts write at the same time.
    """
    way = sum(source.packed_bytes / link if link > 0.0 else inf for link in links)
    return source.packing_s + way + LAYOUT_S_PER_GB * source.bytes / _GB
