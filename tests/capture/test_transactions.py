"""Transactions of the log as scripts of several statements: weights, shared values, pauses; and what is taken apart."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.capture.format import Capture, Load, Logged, Moment, Statement, Transaction
from pgassay.capture.likeness import compare
from pgassay.capture.question import clients_of
from pgassay.capture.scripts import TRANSACTIONS_MAX, ScriptedLoad, control_of, kind_weights, scripted
from pgassay.capture.texts import played
from tests.capture.test_scripts import capture as capture_of

READ = Statement(1, "SELECT status FROM orders WHERE customer_id = $1 LIMIT $2", 300, 30.0, 300, logged_calls=100)
NAMED = Statement(2, "SELECT note FROM orders WHERE id = $1", 150, 15.0, 150, logged_calls=50)
NEW = Statement(3, "INSERT INTO orders (id, customer_id, status) VALUES ($1, $2, $3)", 90, 9.0, 90, logged_calls=30)
CHANGED = Statement(4, "UPDATE orders SET status = $1 WHERE id = $2", 60, 6.0, 60, logged_calls=30)
STATEMENTS = (READ, NAMED, NEW, CHANGED)
KIND = Transaction((1, 3, 4), commits=20, rollbacks=5, pause_ms=30.0)


def capture(*kinds: Transaction, statements: tuple[Statement, ...] = STATEMENTS) -> Capture:
    whole = capture_of(*statements)
    assert whole.load is not None
    return replace(whole, load=replace(whole.load, logged=Logged(10.0, 500, transactions=kinds)))


def only(load: ScriptedLoad) -> str:
    (text,) = [each.text for each in load.played if each.transaction and not each.name.endswith("r")]
    return text


def calls(load: ScriptedLoad) -> dict[int, int]:
    found: Counter[int] = Counter()
    for each in load.played:
        for statement in each.statements:
            found[statement.query_id] += each.weight
    return dict(found)


def test_a_transaction_is_one_script_with_its_pauses_and_statements_alone_get_the_rest() -> None:
    load = scripted(capture(KIND))
    assert {each.name: each.weight for each in load.played} == {
        "001": 250, "002": 150, "003": 40, "004": 10, "t001": 40, "t001r": 10,
    }  # fmt: skip
    lines = [line for line in only(load).splitlines() if not line.startswith(("--", "\\set", "\\if", "\\el", "\\end"))]
    assert lines[0] == "BEGIN;"
    assert lines[1] == "\\sleep 300 us"
    assert lines[2].startswith("SELECT status FROM orders WHERE customer_id = (:s1_p1) LIMIT 1;")
    assert lines[-2:] == ["\\sleep 300 us", "END;"]
    rolled_back = next(each.text for each in load.played if each.name == "t001r")
    assert rolled_back.splitlines()[-1] == "ROLLBACK;"
    assert calls(load) == {each.query_id: each.calls for each in STATEMENTS}


def test_a_shared_value_is_drawn_once_and_a_new_key_goes_to_all_places() -> None:
    shared = (((0, 1), (1, 2)), ((1, 1), (2, 2)))
    text = only(scripted(capture(replace(KIND, shared=shared))))
    assert "customer_id = (:s1_p1) LIMIT" in text
    assert "VALUES ((:s2_p1), (:s1_p1), E'" in text
    assert "WHERE id = (:s2_p1);" in text
    assert "\\set s2_p2" not in text
    assert "\\set s3_p2" not in text
    assert "-- $2: the same as $1 of statement 1" in text
    assert text.index("\\set s2_p1 ") < text.index("BEGIN;")


def test_a_shared_text_is_chosen_by_the_same_number() -> None:
    kind = Transaction((3, 4), commits=20, shared=(((0, 3), (1, 1)),))
    text = only(scripted(capture(kind)))
    assert text.count("\\set chosen_") == 1
    changed = [line.partition("status = E'")[2][:4] for line in text.splitlines() if line.startswith("UPDATE")]
    texts = [line.rpartition("E'")[2][:4] for line in text.splitlines() if line.startswith("INSERT")]
    assert texts == changed
    assert len(set(changed)) == 2


def test_values_of_other_types_are_not_shared() -> None:
    kind = Transaction((3, 4), commits=20, shared=(((0, 1), (1, 1)), ((0, 9), (5, 1))))
    text = only(scripted(capture(kind)))
    assert "SET status = E'" in text


def test_whole_transactions_are_played_as_observed_but_new_keys_are_new() -> None:
    samples = tuple(((str(n), str(n * 2), "open"), ("sent", str(n))) for n in (1, 2, 3))
    kind = Transaction((3, 4), commits=20, parameters=samples, shared=(((0, 1), (1, 2)),))
    text = only(scripted(capture(kind)))
    assert "\\set chosen_3 random(1, 3)" in text
    assert "VALUES ((:s1_p1), E'4', E'open')" in text
    assert text.count("UPDATE orders SET status = E'sent' WHERE id = (:s1_p1);") == 3


def test_a_transaction_with_a_statement_that_cannot_be_played_is_taken_apart() -> None:
    pattern = Statement(5, "SELECT id FROM orders WHERE length(status) > $1", 60, 6.0, 60, logged_calls=30)
    load = scripted(capture(Transaction((1, 5), commits=20), statements=(*STATEMENTS, pattern)))
    assert not any(each.transaction for each in load.played)
    ((kind, reason),) = load.taken_apart
    assert (kind.statements, reason) == (
        (1, 5),
        "of its statement 2: the value of $1 is not known: it is compared with no column",
    )
    assert "taken apart: a transaction of 2 statements, 20 in the log: of its statement 2" in played(load)
    assert calls(load)[1] == READ.calls


def test_what_fails_as_a_transaction_is_played_by_its_statements() -> None:
    found = capture(KIND)
    assert found.load is not None
    load = scripted(found).without({"t001": "duplicate key"}, found.load)
    assert {each.name: each.weight for each in load.played} == {
        "001": 290, "002": 150, "003": 80, "004": 50, "t001r": 10,
    }  # fmt: skip
    less = load.without({"003": "no such table"}, found.load)
    (lost,) = less.unplayed
    assert lost.statement == NEW
    assert lost.time_share == pytest.approx(80 / 90 * 9.0 / 60.0)


def test_a_statement_that_runs_in_transactions_only_is_tried_alone_and_not_played_alone() -> None:
    once = replace(NEW, calls=30)
    load = scripted(capture(Transaction((3,), commits=30), statements=(READ, once)))
    assert [(each.name, each.weight) for each in load.tried] == [("001", 300), ("002", 0), ("t001", 30)]
    assert [each.name for each in load.played] == ["001", "t001"]
    assert "load: 2 of 2 statements are played" in played(load)
    assert "9.1% of their calls in transactions, by 1 scripts" in played(load)


def test_begin_and_commit_are_part_of_the_transactions() -> None:
    control = tuple(Statement(9 + n, text, 50, 1.0, 0) for n, text in enumerate(("BEGIN", "COMMIT")))
    load = scripted(capture(KIND, statements=(*STATEMENTS, *control)))
    assert load.unplayed == ()
    assert scripted(capture_of(*STATEMENTS, *control)).unplayed == (), "a statement alone is committed, too"
    here = Load(1.0, (Statement(77, "BEGIN", 5, 1.0, 0), Statement(78, "END", 5, 1.0, 0)))
    assert compare(Load(1.0, control), here).parts[0].likeness == 1.0
    texts = ("START TRANSACTION READ ONLY", "begin;", "ROLLBACK TO SAVEPOINT a", "ABORT", "COMMIT PREPARED 'x'", "")
    assert [control_of(each) for each in texts] == ["BEGIN", "BEGIN", "", "ROLLBACK", "", ""]


def test_rare_kinds_and_too_many_kinds_are_taken_apart() -> None:
    rare = Transaction((1, 2), commits=1)
    seldom = tuple(replace(each, calls=1) for each in STATEMENTS)
    load = scripted(capture(rare, statements=seldom))
    assert load.taken_apart == ((rare, "it is too rare"),)
    many = [Transaction((1,) * n, commits=1) for n in range(1, TRANSACTIONS_MAX + 3)]
    busy = replace(READ, calls=100_000, logged_calls=1000)
    load = scripted(capture(*many, statements=(busy,)))
    assert len([each for each in load.played if each.transaction]) == TRANSACTIONS_MAX
    assert [len(kind.statements) for kind, _ in load.taken_apart] == [2, 1]
    assert "scripts of others make more calls" in load.taken_apart[0][1]


def test_long_pauses_are_cut_and_short_ones_are_the_way_to_the_server() -> None:
    def sleeps(pause_ms: float) -> int:
        kind = Transaction((1,), commits=10, pause_ms=pause_ms)
        return only(scripted(capture(kind))).count("\\sleep 1000000 us" if pause_ms > 100 else "\\sleep")

    assert [sleeps(each) for each in (0.5, 2.0, 1e6)] == [0, 2, 2]


def test_sessions_that_pause_in_a_transaction_are_clients_too() -> None:
    moments = tuple(Moment(n, {"active": 1, "idle in transaction": 2, "idle": 9}, {}) for n in range(3))
    logged = Logged(10.0, 5, transactions=(Transaction((1,), commits=10, pause_ms=35_000.0),))
    load = Load(10.0, (READ,), moments)
    assert (clients_of(load), clients_of(load, pauses=True)) == (1, 3)
    assert clients_of(replace(load, logged=logged), pauses=True) == 4


_counts = st.integers(1, 10_000)


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 3), min_size=1, max_size=5), _counts, st.integers(0, 50)), max_size=6),
    st.lists(st.tuples(_counts, st.integers(0, 10_000)), min_size=4, max_size=4),
)
def test_no_statement_is_called_more_often_than_in_the_source(
    kinds: list[tuple[list[int], int, int]], counts: list[tuple[int, int]]
) -> None:
    statements = tuple(Statement(n, "", calls, 1.0, 0, logged_calls=seen) for n, (calls, seen) in enumerate(counts))
    transactions = [Transaction(tuple(each), commits, rollbacks) for each, commits, rollbacks in kinds]
    within: Counter[int] = Counter()
    for kind, weights in zip(transactions, kind_weights(Load(1.0, statements), transactions), strict=True):
        for query_id in kind.statements:
            within[query_id] += sum(weights)
    assert all(within[each.query_id] <= each.calls for each in statements)
