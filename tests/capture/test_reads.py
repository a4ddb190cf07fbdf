"""What a statement did between two snapshots: counters that grew, began anew, or are our own."""

from pgassay.capture.format import Statement
from pgassay.capture.reads import MARK, between, merged, plus

ZERO = (0, 0, 0, 0, 0, 0)


def test_only_what_was_called_in_the_window_is_there() -> None:
    before = [(1, None, 10, 100.0, 10, *ZERO), (2, None, 5, 50.0, 5, *ZERO)]
    after = [
        (1, "SELECT 1", 13, 160.0, 19, *ZERO),
        (2, "SELECT 2", 5, 50.0, 5, *ZERO),
        (3, "SELECT 3", 1, 7.0, 1, *ZERO),
    ]
    assert between(before, after) == (Statement(1, "SELECT 1", 3, 60.0, 9), Statement(3, "SELECT 3", 1, 7.0, 1))


def test_an_entry_that_was_reset_counts_from_nothing() -> None:
    (found,) = between([(1, None, 100, 900.0, 100, *ZERO)], [(1, "SELECT 1", 4, 8.0, 4, *ZERO)])
    assert (found.calls, found.exec_ms, found.rows) == (4, 8.0, 4)


def test_our_own_statements_are_left_out() -> None:
    assert between([], [(1, f"SELECT /* {MARK} */ 1", 9, 9.0, 9, *ZERO)]) == ()


def test_a_text_that_the_server_has_lost_is_empty() -> None:
    (found,) = between([], [(1, None, 1, 1.0, 1, *ZERO)])
    assert found.text == ""


def test_statements_of_one_text_are_one_and_those_without_a_text_stay_apart() -> None:
    first, second = Statement(1, "SELECT a", 3, 30.0, 3, wal_bytes=5), Statement(2, "SELECT a", 1, 40.0, 1, wal_bytes=1)
    assert merged([first, second]) == (Statement(1, "SELECT a", 4, 70.0, 4, wal_bytes=6),)
    assert plus(second, first).query_id == 2
    nameless = [Statement(3, "", 1, 1.0, 1), Statement(4, "", 1, 2.0, 1)]
    assert [each.query_id for each in merged(nameless)] == [4, 3]


def test_what_a_dump_sends_is_not_the_applications() -> None:
    catalogue = "SELECT t.oid, t.typname\nFROM pg_type t\nLEFT JOIN pg_catalog.pg_class c ON true"
    sent = [
        "SELECT pg_catalog.set_config($1, $2, $3)", catalogue, "COPY public.t (a) TO stdout", "EXECUTE getTypes($1)",
        "PREPARE dumpFunc(pg_catalog.oid) AS\nSELECT a FROM pg_proc", "LOCK TABLE public.t IN ACCESS SHARE MODE",
    ]  # fmt: skip
    own = ["SELECT a FROM t JOIN pg_class c ON true", "SELECT 1", "COPY t FROM stdin"]

    def texts(*chosen: str) -> set[str]:
        rows = [(number, text, 1, 1.0, 1, *[0] * 6) for number, text in enumerate(chosen)]
        return {each.text for each in between([], rows)}

    assert texts(*sent, *own) == set(own)
    assert texts(*sent[1:], *own) == {*sent[1:], *own}, "no dump began in the window"
