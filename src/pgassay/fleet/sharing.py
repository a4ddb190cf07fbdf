"""The head's part in what hosts share: asks each what it has, decides what is sent, has it sent, and says so.

It is done before the first block, so no trial waits for it and no trial runs beside it. What goes wrong on the way ends
with what a host makes for itself, as it would have without; only where the user asked for sending is it an error.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import msgspec
from distributed import Client

from pgassay.fleet import carriage, messages, task
from pgassay.fleet.carriage import Carriage, Place
from pgassay.fleet.job import Bench, BuildOrder, GoldenOrder
from pgassay.fleet.messages import BUILD, DATA, FleetError, Goods
from pgassay.fleet.sharing_plan import Choice, Made, Seen, Way, Wish, choose, differing, source_of

Tell = Callable[[str], None]
Work = Callable[[bytes], bytes]


class Dealt(msgspec.Struct, frozen=True):
    """What was done about some data or a build, for the record. Times in seconds, None where not measured or weighed.

    `sent_bytes` went over links to all hosts together; `again` pieces came damaged, and were sent again.
    """

    what: str
    way: str
    why: str
    source: str
    hosts: tuple[str, ...]
    bytes: int
    links_bytes_per_s: Mapping[str, float]
    sending_s: float | None = None
    making_s: float | None = None
    took_s: float | None = None
    sent_bytes: int = 0
    again: int = 0
    not_sent: Mapping[str, str] = {}


@dataclass(frozen=True)
class Ask:
    """What a host is asked for: to look what there is, or to make, pack, repack or unpack an item, which is sent from
    `source`.
    """

    host: str
    action: str
    item: str = ""
    source: str = ""


def golden(client: Client, bench: Bench, wish: Wish, tell: Tell) -> list[Dealt]:
    """See to the data that the trials of a study start from; raises `FleetError`."""

    def order(ask: Ask) -> bytes:
        return msgspec.json.encode(GoldenOrder(ask.action, bench, ask.host, ask.item))

    return Sharing(client, wish, tell, DATA, order, task.golden).share()


def builds(client: Client, requests: Sequence[Mapping[str, str]], wish: Wish, tell: Tell, **how: Any) -> list[Dealt]:
    """See to these builds, each as levels of `build.*`; `how` is as in a `BuildOrder`. Raises `FleetError`."""

    def order(ask: Ask) -> bytes:
        return msgspec.json.encode(BuildOrder(ask.action, ask.host, tuple(requests), ask.item, ask.source, **how))

    return Sharing(client, wish, tell, BUILD, order, task.build).share() if requests else []


@dataclass
class Sharing:
    """Something that the hosts which are there share; `order` puts what a host is asked as `work` takes it."""

    client: Client
    wish: Wish
    tell: Tell
    goods: Goods
    order: Callable[[Ask], bytes]
    work: Work
    _links: dict[tuple[str, str], float] = field(default_factory=dict)

    def share(self) -> list[Dealt]:
        """See to it; raises `FleetError` where sending was asked for and cannot be."""
        hosts = sorted(carriage.addresses(self.client))
        if len(hosts) < 2 or self.wish is Wish.MADE:
            return []
        looked = self._everywhere([Ask(host, "look") for host in hosts])
        seen = {host: msgspec.json.decode(found, type=list[Seen]) for host, found in looked.items()}
        items = dict.fromkeys(each.item for host in hosts if host in seen for each in seen[host])
        return [self._deal([each for host in seen for each in seen[host] if each.item == item]) for item in items]

    def _deal(self, seen: Sequence[Seen]) -> Dealt:
        holdings = [each.holding for each in seen]
        source = source_of(holdings)
        able = [] if source is None else [each for each in holdings if not each.there and not differing(source, each)]
        links = {}
        if self.wish is Wish.AUTO and source is not None:
            links = {each.host: self._link(source.host, each.host) for each in able}
        choice = choose(self.wish, holdings, links, self.goods)
        size = max(each.bytes for each in holdings)
        what = max(seen, key=lambda each: each.holding.there).what  # a host that has it knows best
        dealt = Dealt(
            what, choice.way, choice.why, choice.source, choice.lacking, size, links, choice.sending_s,
            choice.making_s,
        )  # fmt: skip
        self.tell(messages.dealt(self.goods, dealt.what, dealt.way, dealt.source, dealt.hosts, dealt.why))
        if choice.way is not Way.SENT or not choice.lacking:
            return dealt
        return self._send({each.holding.host: each for each in seen}, choice, dealt)

    def _link(self, source: str, target: str) -> float:
        if (source, target) not in self._links:
            try:
                self._links[source, target] = carriage.link_bytes_per_s(self.client, source, target)
            except FleetError:  # it makes its own data when it is back
                self._links[source, target] = 0.0
        return self._links[source, target]

    def _send(self, seen: Mapping[str, Seen], choice: Choice, dealt: Dealt) -> Dealt:
        """Pack on the source, carry, unpack on each; what fails is told, and left to the host itself."""
        source, item = seen[choice.source], seen[choice.source].item
        try:
            took_s = 0.0 if source.holding.there else self._timed(choice.source, "make", item)
            took_s += self._timed(choice.source, "pack", item)
            place = Place(choice.source, source.store)
            listing = carriage.fetched_listing(self.client, place)
            carrying = Carriage(self.client, place, listing, lambda: self._timed(choice.source, "repack", item))
            sent = carrying.carry([Place(host, seen[host].store) for host in choice.lacking])
            carriage.on_host(self.client, choice.source, carriage.forget, source.store)
        except (FleetError, task.HostError) as error:
            self._left(choice.lacking, error)
            reasons = dict.fromkeys(choice.lacking, messages.reason_of(error))
            return msgspec.structs.replace(dealt, not_sent=reasons)
        failed = dict(sent.failed)
        arrived = [Ask(host, "unpack", item, choice.source) for host in choice.lacking if host not in failed]
        unpacked = self._everywhere(arrived, failed)
        for host, reason in failed.items():
            self._left([host], messages.FleetError(reason))
        seconds = [msgspec.json.decode(each, type=Made).seconds for each in unpacked.values()]
        took_s += sent.seconds + max(seconds, default=0.0)
        self.tell(messages.sent(sent.bytes, listing.bytes, took_s, sent.again))
        return msgspec.structs.replace(
            dealt, took_s=took_s, sent_bytes=sent.bytes, again=sent.again, not_sent=failed, bytes=listing.bytes
        )

    def _left(self, hosts: Sequence[str], error: Exception) -> None:
        if self.wish is Wish.SENT:
            raise messages.not_sent(self.goods, ", ".join(hosts), messages.reason_of(error))
        self.tell(messages.left_to(self.goods, hosts, messages.reason_of(error)))

    def _timed(self, host: str, action: str, item: str) -> float:
        return msgspec.json.decode(self._ask(Ask(host, action, item)), type=Made).seconds

    def _ask(self, ask: Ask) -> bytes:
        answer: bytes = carriage.on_host(self.client, ask.host, self.work, self.order(ask))
        return answer

    def _everywhere(self, asked: Sequence[Ask], failed: dict[str, str] | None = None) -> dict[str, bytes]:
        """Ask hosts at the same time; one that fails is left out, and named in `failed`."""

        def answer(ask: Ask) -> bytes | Exception:
            try:
                return self._ask(ask)
            except (FleetError, task.HostError) as error:
                return error

        with ThreadPoolExecutor(max(1, len(asked))) as pool:
            answers = list(pool.map(answer, asked))
        found: dict[str, bytes] = {}
        for ask, each in zip(asked, answers, strict=True):
            if isinstance(each, bytes):
                found[ask.host] = each
            elif failed is not None:
                failed[ask.host] = messages.reason_of(each)
        return found
