"""Sent or made: by what was measured, by what the user asks for, and never between hosts that differ."""

from dataclasses import replace

import pytest

from pgassay.fleet.messages import BUILD, FleetError
from pgassay.fleet.sharing_plan import Choice, Holding, Way, Wish, choose, sending_s

KIN = {"architecture": "x86_64", "page size": "8192 bytes", "PostgreSQL": "15.14"}
HAS = Holding("h1", KIN, True, 1_000_000_000, 8.0, made_s=12.0, packed_bytes=100_000_000, packing_s=2.0)
LACKS = Holding("h2", KIN, False, 1_000_000_000, 8.0)
THIRD = replace(LACKS, host="h3")
FAST = {"h2": 100e6, "h3": 100e6}


def test_the_quicker_way_by_the_measured_link_and_the_measured_time_of_making() -> None:
    assert sending_s(HAS, [100e6]) == pytest.approx(2.0 + 1.0 + 2.6)
    found = choose(Wish.AUTO, [HAS, LACKS], FAST)
    assert (found.way, found.source, found.lacking) == (Way.SENT, "h1", ("h2",))
    assert found.sending_s == pytest.approx(5.6)
    assert found.making_s == 12.0
    assert "5.6 s over the link as measured" in found.why
    assert "12.0 s as measured on h1" in found.why
    slow = choose(Wish.AUTO, [HAS, LACKS], {"h2": 10e6})
    assert (slow.way, slow.source, slow.lacking) == (Way.MADE, "", ("h2",))
    assert slow.sending_s == pytest.approx(14.6)
    assert choose(Wish.AUTO, [HAS, LACKS], {"h2": 0.0}).way is Way.MADE


def test_every_host_more_takes_the_sources_link_once_more_and_making_takes_no_longer() -> None:
    one = choose(Wish.AUTO, [HAS, LACKS], {"h2": 20e6, "h3": 20e6})
    two = choose(Wish.AUTO, [HAS, LACKS, THIRD], {"h2": 20e6, "h3": 20e6})
    assert (one.way, two.way) == (Way.SENT, Way.MADE)
    assert two.lacking == ("h2", "h3")


def test_where_making_was_not_measured_rules_of_thumb_are_named_as_such() -> None:
    found = choose(Wish.AUTO, [replace(HAS, made_s=None), LACKS], FAST)
    assert (found.way, found.making_s) == (Way.SENT, 8.0)
    assert "8.0 s by rules of thumb" in found.why
    known = replace(HAS, host="h4")
    assert choose(Wish.AUTO, [replace(HAS, made_s=None), known, LACKS], FAST).source == "h4"


def test_what_nobody_has_all_make_at_once_and_what_all_have_nobody_sends() -> None:
    found = choose(Wish.AUTO, [LACKS, THIRD], {})
    assert (found.way, found.lacking) == (Way.MADE, ("h2", "h3"))
    assert "no host has them" in found.why
    assert choose(Wish.AUTO, [HAS, replace(HAS, host="h2")], {}) == Choice(Way.THERE, "every host has them")


def test_as_the_user_asks() -> None:
    assert choose(Wish.MADE, [HAS, LACKS], FAST).way is Way.MADE
    slow = choose(Wish.SENT, [HAS, LACKS], {})
    assert (slow.way, slow.source, slow.lacking, slow.why) == (Way.SENT, "h1", ("h2",), "as asked")
    first = choose(Wish.SENT, [LACKS, THIRD], {})
    assert (first.way, first.source, first.lacking) == (Way.SENT, "h2", ("h3",))


def test_hosts_that_differ_make_their_own_and_the_refusal_names_what_differs() -> None:
    arm = replace(THIRD, kin={**KIN, "architecture": "aarch64", "page size": "4096 bytes"})
    found = choose(Wish.AUTO, [HAS, LACKS, arm], FAST)
    assert (found.way, found.lacking) == (Way.SENT, ("h2",))
    named = "h3 makes its own: differs from h1 in architecture (x86_64, aarch64), page size (8192 bytes, 4096 bytes)"
    assert named in found.why
    alone = choose(Wish.AUTO, [HAS, arm], FAST)
    assert (alone.way, alone.lacking, alone.why) == (Way.MADE, ("h3",), named)
    with pytest.raises(FleetError, match="cannot be sent: h3: differs from h1 in architecture"):
        choose(Wish.SENT, [HAS, LACKS, arm], FAST)


def test_data_on_a_drive_of_their_own_are_not_sent() -> None:
    own = replace(LACKS, refusal="they are on a drive of their own")
    assert choose(Wish.AUTO, [HAS, own], FAST).why == "h2 makes its own: they are on a drive of their own"
    with pytest.raises(FleetError, match="h2: they are on a drive of their own"):
        choose(Wish.SENT, [HAS, own], FAST)


def test_a_host_without_a_compiler_is_sent_what_another_makes_however_slow_the_link() -> None:
    bare = replace(THIRD, able=False)
    found = choose(Wish.AUTO, [HAS, LACKS, bare], {"h2": 1e3, "h3": 1e3}, BUILD)
    assert (found.way, found.source, found.lacking) == (Way.SENT, "h1", ("h2", "h3"))
    assert (found.why, found.sending_s, found.making_s) == ("h3 cannot build", None, None)
    fresh = choose(Wish.AUTO, [bare, LACKS], {}, BUILD)
    assert (fresh.way, fresh.source, fresh.lacking) == (Way.SENT, "h2", ("h3",))
    assert choose(Wish.SENT, [bare, LACKS], {}, BUILD).source == "h2"
    apart = choose(Wish.AUTO, [replace(bare, kin={"architecture": "aarch64"}), LACKS, HAS], FAST, BUILD)
    assert (apart.way, apart.lacking) == (Way.SENT, ("h2",))
    alone = choose(Wish.AUTO, [replace(bare, kin={"architecture": "aarch64"}), LACKS], {}, BUILD)
    assert (alone.way, alone.lacking) == (Way.MADE, ("h3", "h2"))
    nobody = choose(Wish.AUTO, [bare, replace(LACKS, able=False)], {}, BUILD)
    assert (nobody.way, nobody.why) == (Way.MADE, "no host has it, and all make it at the same time")


def test_what_a_host_does_not_know_yet_is_not_compared() -> None:
    """A host without the source takes the one that the build came from."""
    assert choose(Wish.AUTO, [HAS, replace(LACKS, kin={"architecture": "x86_64"})], FAST).way is Way.SENT
    other = replace(LACKS, kin={"architecture": "aarch64"})
    assert choose(Wish.AUTO, [HAS, other], FAST).why.endswith("differs from h1 in architecture (x86_64, aarch64)")


def test_a_build_that_works_in_its_own_folder_alone_is_not_sent() -> None:
    bound = replace(HAS, refusal="its programs are bound to it")
    found = choose(Wish.AUTO, [bound, LACKS], FAST, BUILD)
    assert (found.way, found.lacking) == (Way.MADE, ("h2",))
    assert found.why == "what h1 has cannot be sent: its programs are bound to it"
