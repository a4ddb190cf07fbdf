"""Parsers of /proc and /sys, on lines as kernels print them, with names that try to confuse."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.interfaces.proc import Process, parse_stat
from pgassay.probe.procfs import US_PER_TICK, parse_cpu, parse_device_stat, parse_table, sum_counts

STAT = "4242 (postgres) S 17 4242 4242 0 -1 4194304 900 80 0 0 30 40 500 600 20 0 1 0 100 0 0\n"


def test_times() -> None:
    assert parse_stat(STAT) == Process(4242, 17, "postgres", "S", 100, 30, 40, 500, 600)


@given(st.text(st.characters(blacklist_characters="\n\0", codec="utf-8"), max_size=15))
def test_a_name_may_hold_anything(name: str) -> None:
    assert parse_stat(STAT.replace("(postgres)", f"({name})")) == replace(parse_stat(STAT), name=name)


@pytest.mark.parametrize("text", ["4242 (postgres", "no brackets here", "1 (a) S 2 3"])
def test_what_is_no_stat_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="stat"):
        parse_stat(text)


def test_tables() -> None:
    status = "Name:\tpostgres\nRssAnon:\t    1348 kB\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n"
    assert parse_table(status) == {
        "RssAnon": 1348,
        "voluntary_ctxt_switches": 12,
        "nonvoluntary_ctxt_switches": 3,
    }
    assert parse_table("nr_dirty 17\npswpin 0\n", " ") == {"nr_dirty": 17, "pswpin": 0}


def test_cpu_of_the_machine() -> None:
    found = parse_cpu("cpu  10 1 20 300 5 0 2 7 0 0\ncpu0 5 0 10 150 2 0 1 3 0 0\nintr 9\nctxt 4711\n")
    assert found["steal"] == 7 * US_PER_TICK
    assert found["idle"] == 300 * US_PER_TICK
    assert found["switches"] == 4711
    assert set(found) == {"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "switches"}


def test_counts_of_several_files_make_one_number_or_none() -> None:
    assert sum_counts(["2\n", "0\n", "5\n"]) == 7
    assert sum_counts([]) is None  # this machine counts nothing
    assert sum_counts(["2\n", None]) is None  # a core went away: the sum would go back


def test_a_device() -> None:
    found = parse_device_stat("  100 5 800 40 200 6 1600 90 0 110 130 1 0 8 2 12 34\n")
    assert found == {
        "reads": 100,
        "read_bytes": 800 * 512,
        "read_ms": 40,
        "writes": 200,
        "written_bytes": 1600 * 512,
        "write_ms": 90,
        "busy_ms": 110,
        "discards": 1,
        "discarded_bytes": 8 * 512,
        "flushes": 12,
        "flush_ms": 34,
    }


def test_an_old_kernel_counts_no_flushes_which_is_not_none_at_all() -> None:
    found = parse_device_stat("100 5 800 40 200 6 1600 90 0 110 130\n")
    assert found["written_bytes"] == 1600 * 512
    assert (found["flushes"], found["discards"]) == (None, None)
