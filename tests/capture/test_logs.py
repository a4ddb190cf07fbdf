"""A server's log beside pg_stat_statements, or alone: values, transactions, secrets, and logs that cannot be read."""

import bz2
import gzip
import json
import lzma
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise, permutations
from pathlib import Path
from random import Random

import pytest

from pgassay._core import ServerLogReader
from pgassay.capture import files, logs, taking
from pgassay.capture.errors import CaptureError
from pgassay.capture.format import Load, Statement
from pgassay.capture.logs import LogFiles
from pgassay.capture.question import clients_of
from pgassay.capture.scripts import script, scripted
from pgassay.capture.taking import Request, identify
from pgassay.capture.texts import announcement, played, summary
from pgassay.cli import main
from pgassay.errors import UsageError
from tests.capture.test_scripts import capture as capture_of
from tests.capture.test_taking import IDENTITY, ZERO, FakeServer, taken

SELECT = "SELECT id FROM orders WHERE customer_id = $1 AND status = $2"
UPDATE = "UPDATE orders SET status = $2 WHERE id = $1"
QUERY = "SELECT note FROM orders WHERE id ="
MESSAGES = (
    "duration: 0.100 ms  statement: BEGIN",
    "duration: 2.000 ms  statement: SELECT id FROM orders WHERE customer_id = 7 AND status = 'it''s' -- page",
    "duration: 1.000 ms  execute s: UPDATE orders SET status = $2 WHERE id = $1",
    "duration: 0.100 ms  statement: COMMIT",
)


def logged(folder: Path, *messages: str, prefix: str = "2026-11-23 01:29:46.500 UTC [77] ") -> LogFiles:
    path = folder / "postgresql.log"
    lines = []
    for each in messages or MESSAGES:
        lines.append(f"{prefix}LOG:  {each}\n")
        if "execute" in each:
            lines.append(f"{prefix}DETAIL:  Parameters: $1 = '5', $2 = NULL\n")
    lines.append(f"{prefix}LOG:  checkpoint starting: time\n")
    path.write_text("".join(lines), encoding="utf-8")
    return LogFiles((path,))


def read(found: LogFiles, *, with_values: bool = True) -> logs.Summary:
    return logs.read(found, logs.DEFAULT_PREFIX, "app", with_values=with_values)


def test_statements_of_both_are_joined_and_values_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    counted = Load(
        10.0, (Statement(1, UPDATE, 3, 9.0, 3), Statement(2, SELECT, 3, 6.0, 9), Statement(3, "VACUUM", 1, 1, 0))
    )
    load = logs.joined(counted, read(logged(tmp_path)))
    assert [each.parameters for each in load.statements] == [(("5", None),), (("7", "it's"),), ()]
    assert load.logged is not None
    (transaction,) = load.logged.transactions
    assert (transaction.statements, transaction.commits) == ((2, 1), 1)
    assert transaction.parameters == ((("7", "it's"), ("5", None)),)
    assert (load.logged.calls, load.logged.calls_by_minute, load.logged.processes) == (2, ((0, 2),), 1)


def test_a_value_that_two_statements_share_is_kept_as_numbers_of_parameters(tmp_path: Path) -> None:
    def messages(order: int) -> tuple[str, ...]:
        update = f"statement: UPDATE orders SET status = 'a{order}' WHERE id = {order}7"
        return (
            "statement: BEGIN",
            "statement: SET LOCAL x = 1",
            f"statement: {QUERY} {order}7",
            update,
            "statement: END",
        )

    found = read(logged(tmp_path, *(each for n in range(6) for each in messages(n))), with_values=False)
    statements = (Statement(1, UPDATE, 60, 9.0, 3), Statement(2, f"{QUERY} $1", 60, 6.0, 9))
    load = logs.joined(Load(10.0, statements), found)
    assert load.logged is not None
    (transaction,) = load.logged.transactions
    assert (transaction.statements, transaction.parameters) == ((2, 1), ())
    assert transaction.shared == (((0, 1), (1, 1)),)
    assert [each.logged_calls for each in load.statements] == [6, 6]
    files.write(replace(taken(FakeServer(), Request(1.0)).capture, load=load), tmp_path, "x.capture")
    assert files.read(tmp_path).load == load


def test_a_transaction_with_an_unknown_query_is_left_out_and_counted(tmp_path: Path) -> None:
    load = logs.joined(Load(10.0, (Statement(1, UPDATE, 3, 9.0, 3),)), read(logged(tmp_path)))
    assert load.logged is not None
    assert (load.logged.transactions, load.logged.left_out) == ((), 1)


def test_a_log_alone_is_a_load_that_can_be_played(tmp_path: Path) -> None:
    server = FakeServer(the_extensions=[])
    found = taken(server, Request(5.0, with_literals=True, logs=logged(tmp_path))).capture
    assert found.load is not None
    assert found.load.logged is not None
    assert not any("pg_stat_statements" in sql for sql in server.asked)
    first = found.load.statements[0]
    assert (first.text, first.calls, first.exec_ms, first.parameters) == (SELECT, 1, 2.0, (("7", "it's"),))
    text = script(capture_of(first), first, Random(0))
    assert "customer_id = E'7' AND status = E'it\\x27s';" in text
    for most, said in ((None, "1 s; 1 transactions"), (3, "1 s, at most 3 processes at once; 1 transactions")):
        logged_most = replace(found.load, logged=replace(found.load.logged, processes_most=most))
        assert f"log: 2 calls in {said}" in summary(replace(found, load=logged_most), tmp_path / "x.capture")
    files.write(found, tmp_path, "x.capture")
    assert files.read(tmp_path).load == found.load


def test_without_literals_no_value_is_kept(tmp_path: Path) -> None:
    snapshots: tuple[list[tuple[object, ...]], ...] = ([], [(2, SELECT, 3, 6.0, 9, *ZERO)])
    found = taken(FakeServer(snapshots=snapshots), Request(1.0, logs=logged(tmp_path))).capture
    files.write(found, tmp_path, "x.capture")
    assert found.load is not None
    assert found.load.logged is not None
    assert "it's" not in (tmp_path / files.LOAD).read_text()


def test_values_that_are_secrets_are_left_out(tmp_path: Path) -> None:
    token = "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl"
    found = read(
        logged(
            tmp_path,
            "statement: SELECT 1 FROM users WHERE password_hash = 'abc'",
            f"statement: SELECT 1 FROM visits WHERE cookie = '{token}'",
        )
    )
    assert [each.parameters for each in logs.load_of(found).statements] == [(), ()]


def plan(text: str, given: str = "") -> str:
    """An entry of auto_explain, as it stands in stderr."""
    parameters = f"Query Parameters: {given}\n\t" if given else ""
    top = "Seq Scan on orders  (cost=0.00..1.00 rows=1 width=4)\n\t  Filter: (id = 5)"
    return f"duration: 1.000 ms  plan:\n\tQuery Text: {text}\n\t{parameters}{top}"


PLANS = (
    plan(f"{QUERY} 5"),
    plan(f"{QUERY}\n\t 6 -- page"),
    plan(UPDATE, "$1 = '7', $2 = 'it''s'"),
    plan(UPDATE, "$1 = '8', $2 = 'lon...'"),
    plan("SELECT inner FROM f WHERE a = 1"),
)
COUNTED = Load(10.0, (Statement(1, UPDATE, 3, 9.0, 3), Statement(2, f"{QUERY} $1", 60, 6.0, 9)))


def test_plans_of_auto_explain_give_values_to_what_was_counted_and_count_nothing(tmp_path: Path) -> None:
    found = read(logged(tmp_path, *PLANS))
    load = logs.joined(COUNTED, found)
    assert [each.parameters for each in load.statements] == [(("7", "it's"),), (("5",), ("6",))]
    assert [(each.calls, each.logged_calls) for each in load.statements] == [(3, 0), (60, 0)]
    assert (load.planned_values, load.logged, load.window_s) == (3, None, 10.0)
    (cut,) = logs.warnings_of(found)
    assert cut.startswith("1 entries of auto_explain have a value that is cut")
    capture = replace(taken(FakeServer(), Request(1.0)).capture, load=load)
    assert "values: 3 tuples of them from entries of auto_explain" in summary(capture, tmp_path / "x.capture")
    files.write(capture, tmp_path, "x.capture")
    assert files.read(tmp_path).load == load
    first = load.statements[0]
    assert "SET status = E'it\\x27s' WHERE id = E'7';" in script(capture_of(first), first, Random(0))


def test_plans_beside_calls_fill_only_what_these_leave_open(tmp_path: Path) -> None:
    calls = (f"duration: 2.000 ms  statement: {QUERY} 5", f"duration: 1.000 ms  statement: {UPDATE}")
    load = logs.joined(COUNTED, read(logged(tmp_path, *PLANS, *calls)))
    assert [each.parameters for each in load.statements] == [(("7", "it's"),), (("5",),)]
    assert [each.logged_calls for each in load.statements] == [1, 1]
    assert load.logged is not None
    assert (load.planned_values, load.logged.calls, load.logged.processes) == (1, 2, 1)


def test_without_a_count_of_calls_plans_alone_are_no_load(tmp_path: Path) -> None:
    request = Request(5.0, with_literals=True, logs=logged(tmp_path, *PLANS))
    with pytest.raises(CaptureError, match="does not say how often a statement ran") as raised:
        taken(FakeServer(the_extensions=[]), request)
    assert "log_min_duration_statement = 0" in str(raised.value.hint)
    calls = (f"duration: 2.000 ms  statement: {QUERY} 9", "duration: 0.100 ms  statement: VACUUM")
    whole = taken(FakeServer(the_extensions=[]), replace(request, logs=logged(tmp_path, *PLANS, *calls)))
    assert whole.capture.load is not None
    assert {each.text: each.calls for each in whole.capture.load.statements} == {f"{QUERY} $1": 1, "VACUUM": 1}
    assert whole.capture.load.planned_values == 0
    assert "2 statements are in entries of auto_explain alone" in whole.warnings[-1]


def test_plans_without_literals_give_nothing_and_it_is_said(tmp_path: Path) -> None:
    snapshots: tuple[list[tuple[object, ...]], ...] = ([], [(2, UPDATE, 3, 6.0, 9, *ZERO)])
    whole = taken(FakeServer(snapshots=snapshots), Request(1.0, logs=logged(tmp_path, *PLANS)))
    assert whole.capture.load is not None
    assert (whole.capture.load.statements[0].parameters, whole.capture.load.planned_values) == ((), 0)
    assert "only --with-literals keeps their values" in whole.warnings[-1]


def test_secrets_in_plans_are_left_out(tmp_path: Path) -> None:
    texts = ("SELECT 1 FROM users WHERE password_hash = $1", "SELECT 1 FROM visits WHERE cookie = $1")
    token = "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl"
    found = read(logged(tmp_path, plan(texts[0], "$1 = 'abc'"), plan(texts[1], f"$1 = '{token}'")))
    load = logs.joined(Load(1.0, tuple(Statement(n, text, 1, 1.0, 1) for n, text in enumerate(texts))), found)
    assert ([each.parameters for each in load.statements], load.planned_values) == ([(), ()], 0)


def test_plans_whose_statement_cannot_be_told_are_counted(tmp_path: Path) -> None:
    found = read(logged(tmp_path, plan("SELECT '\n\tResult  (cost=0.00..0.01 rows=1 width=4)'")))
    assert [each.parameters for each in logs.joined(COUNTED, found).statements] == [(), ()]
    (said,) = logs.warnings_of(found)
    assert said.startswith("1 entries of auto_explain are not used")


def test_an_observed_unique_key_is_new_in_an_insert(tmp_path: Path) -> None:
    insert = Statement(1, "INSERT INTO orders (id, note, customer_id) VALUES ($1, $2, $3)", 1, 1.0, 1)
    seen = replace(insert, parameters=(("4", "a", "5"),))
    text = script(capture_of(seen), seen, Random(0))
    assert "VALUES ((:p1), E'a', E'5') ON CONFLICT DO NOTHING;" in text


@pytest.mark.parametrize(
    ("messages", "prefix", "said"),
    [
        (
            ("durata: 0.123 ms  istruzione: SELECT 1",),
            "2026-11-23 01:29:46.500 UTC [77] ",
            "in a language that is not read",
        ),
        ((), "bob: ", 'do not begin with log_line_prefix "%m \\[%p\\] ": bob: LOG'),
        ((), "[77] ", "have no time"),
        (("checkpoint starting: time",), "2026-11-23 01:29:46.500 UTC [77] ", "holds no statement"),
    ],
)
def test_a_log_that_cannot_be_read_says_why(tmp_path: Path, messages: tuple[str, ...], prefix: str, said: str) -> None:
    found = logged(tmp_path, *messages, prefix=prefix)
    with pytest.raises(CaptureError, match=said):
        read(LogFiles(found.paths, ("[%p] ",)) if prefix == "[77] " else found)


def test_a_copy_by_grep_is_refused_before_the_window(tmp_path: Path) -> None:
    """Its `DELETE FROM orders` was once played, whose second line has the WHERE."""
    whole = logged(
        tmp_path, "statement: DELETE FROM orders\n\tWHERE id = 7", "statement: SELECT id,\n\tnote FROM orders"
    )
    assert [each.text for each in read(whole).statements] == [
        "DELETE FROM orders WHERE id = $1",
        "SELECT id, note FROM orders",
    ]
    (path,) = whole.paths
    path.write_text(
        "".join(line for line in path.read_text().splitlines(keepends=True) if "LOG:" in line), encoding="utf-8"
    )
    words = "lacks further lines of its statements, as a copy by grep does: 1 end in the middle, the first is"
    with pytest.raises(CaptureError, match=words):
        read(whole)
    request = Request(logs=whole, with_data=False)
    server = FakeServer()
    with pytest.raises(CaptureError, match=words):
        taking.require_possible(server, identify(server, request), request, tmp_path)


def test_lines_with_another_prefix_and_a_torn_end_are_warned_of(tmp_path: Path) -> None:
    found = logged(tmp_path)
    path = found.paths[0]
    first = "bob 2026-11-23 01:29:46 UTC: LOG:  duration: 1.000 ms  statement: SELECT 1"
    path.write_text(f"{first}\n{path.read_text()}2026-11-23 01:29:4", encoding="utf-8")
    said = list(logs.warnings_of(read(found)))
    assert said[0] == f"1 of 6 lines of the log could not be read; the first: {first}"
    assert "may not be whole" in said[1]
    assert list(logs.warnings_of(read(LogFiles(found.paths, (logs.DEFAULT_PREFIX, "%u %t: "))))) == said[1:]


def test_a_log_without_durations_tells_no_time_and_no_pauses_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "postgresql.log"
    texts = ("BEGIN", f"{QUERY} 1", "UPDATE orders SET status = 'a' WHERE id = 1", "COMMIT", "VACUUM")
    begun = [f"2026-11-23 01:29:{n:02d}.500 UTC [77] LOG:  statement: {text}\n" for n, text in enumerate(texts)]
    goes_on = "2026-11-23 01:29:50.500 UTC [1] LOG:  checkpoint starting: time\n"
    path.write_text("".join(begun) + goes_on, encoding="utf-8")
    found = read(LogFiles((path,)))
    (said,) = logs.warnings_of(found)
    assert said.startswith("3 of 3 calls of the log have no duration")
    (kind,) = found.transactions
    assert (found.pauses, found.pause_ms, kind.commits, kind.pause_ms) == (0, 0.0, 1, 0.0)
    load = logs.load_of(found)
    assert (load.exec_ms, clients_of(load)) == (0.0, 1)
    shown = played(scripted(replace(capture_of(), load=load)))
    assert "66.7% of the source's calls" in shown
    assert "not played, 33.3% of the calls: VACUUM" in shown
    ended = [line.replace("LOG:  s", "LOG:  duration: 10.000 ms  s") for line in begun]
    both = [f"{line}{line[:33]}LOG:  duration: 10.000 ms\n" for line in begun]
    for lines, pauses_ms in ((ended, [990.0, 2970.0]), (both, [1000.0, 3000.0])):
        path.write_text("".join(lines) + goes_on, encoding="utf-8")
        found = read(LogFiles((path,)))
        assert [found.pause_ms, found.transactions[0].pause_ms] == pauses_ms
        assert list(logs.warnings_of(found)) == []


def by_zstd(plain: bytes) -> bytes:
    return subprocess.run(["zstd", "-qc"], input=plain, capture_output=True, check=True).stdout


PACKERS = [
    pytest.param(pack, marks=pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed"))
    for program, pack in (("gzip", gzip.compress), ("bzip2", bz2.compress), ("xz", lzma.compress), ("zstd", by_zstd))
]


@pytest.mark.parametrize("pack", PACKERS)
def test_a_compressed_log_is_read_whatever_its_name(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    found = logged(tmp_path)
    plain, packed = found.paths[0].read_bytes(), tmp_path / "postgresql.log.1"
    packed.write_bytes(pack(plain[:70]) + pack(plain[70:]))  # as if a rotation had appended to it
    assert read(LogFiles((packed,))) == read(found)
    request = Request(logs=LogFiles((packed,)), with_data=False)
    taking.require_possible(FakeServer(), identify(FakeServer(), request), request, tmp_path)


@pytest.mark.parametrize("pack", PACKERS)
def test_a_compressed_log_that_is_cut_or_damaged_is_refused_by_name(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    found = logged(tmp_path, *(f"statement: SELECT {number}" for number in range(3000)))
    packed, whole = tmp_path / "cut", pack(found.paths[0].read_bytes())
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    for bad in (whole[:-40], whole[: len(whole) // 3], whole[:7], bytes(damaged)):
        packed.write_bytes(bad)
        with pytest.raises(
            CaptureError, match=r'could not read ".*/cut": (gzip|bzip2|xz|zstd) failed with exit code \d'
        ):
            read(LogFiles((packed,)))


def test_without_its_program_a_compressed_log_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "packed"
    packed.write_bytes(lzma.compress(logged(tmp_path).paths[0].read_bytes()))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CaptureError, match="it is compressed, and could not start xz"):
        read(LogFiles((packed,)))


def test_a_compressed_log_is_read_through_a_pipe_only_unpacked(tmp_path: Path) -> None:
    found = logged(tmp_path)
    packed, pipe = tmp_path / "postgresql.log.gz", tmp_path / "pipe"
    packed.write_bytes(gzip.compress(found.paths[0].read_bytes()))
    os.mkfifo(pipe)
    LogFiles((pipe,)).check()
    with subprocess.Popen(["sh", "-c", 'zcat "$0" > "$1"', str(packed), str(pipe)]):
        assert read(LogFiles((pipe,))).statements == read(found).statements
    with (
        subprocess.Popen(["sh", "-c", 'cat "$0" > "$1"', str(packed), str(pipe)]),
        pytest.raises(CaptureError, match="it is a pipe of compressed bytes: give the file itself, or what gzip -dc"),
    ):
        read(LogFiles((pipe,)))


def pieces(folder: Path, stamps: Sequence[str], lines: int = 2) -> list[Path]:
    """A file for each stamp, whose number is in its statements; the second line of each is a checkpoint's."""
    paths = []
    for number, stamp in enumerate(stamps):
        texts = [f"{stamp} LOG:  {text}\n" for text in (f"statement: SELECT {number}", "checkpoint starting: time")]
        paths.append(folder / f"piece{number}")
        paths[-1].write_text("".join(texts[:lines]), encoding="utf-8")
    return paths


def numbers(paths: Sequence[Path], prefix: str) -> list[str]:
    return [event[5].removeprefix("SELECT ") for event in ServerLogReader(paths, [prefix])]


def test_pieces_of_a_rotated_log_are_read_by_their_times(tmp_path: Path) -> None:
    paths = pieces(tmp_path, [f"2026-11-23 0{hour}:00:00.500 UTC [77]" for hour in range(4)])
    paths[2].write_bytes(gzip.compress(paths[2].read_bytes()))
    for order in permutations(paths):
        assert numbers(order, "%m [%p] ") == ["0", "1", "2", "3"]
    found = read(LogFiles((paths[3], paths[0])))
    assert (found.overlap, found.window_s) == (None, 3 * 3600)
    # What can be read only once cannot be put in order.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", 'cat "$0" > "$1"', str(paths[1]), str(pipe)]):
        assert numbers([paths[3], pipe, paths[0]], "%m [%p] ") == ["3", "1", "0"]


def test_a_syslog_goes_on_in_january_though_it_has_no_years(tmp_path: Path) -> None:
    stamps = ("Dec 30 23:00:00", "Dec 31 23:00:00", "Jan  1 01:00:00", "Jan  2 01:00:00")
    paths = pieces(tmp_path, [f"{stamp} db1 postgres[77]: bob@app" for stamp in stamps])
    for order in permutations(paths):
        assert numbers(order, "%q%u@%d ") == ["0", "1", "2", "3"]
    found = read(LogFiles(tuple(reversed(paths)), ("%q%u@%d ",)))
    assert (found.overlap, found.window_s) == (None, 50 * 3600)


def test_times_that_have_a_year_keep_it_whatever_their_order(tmp_path: Path) -> None:
    head = "<134>1 2026-{}-01T10:00:00Z db1 postgres 77 - - bob@app"
    paths = pieces(tmp_path, [head.format(month) for month in ("01", "12", "02")], lines=1)
    long = tmp_path / "long"
    long.write_bytes(paths[0].read_bytes() + paths[1].read_bytes())
    years = {
        datetime.fromtimestamp(event[0] / 1e6, UTC).year for event in ServerLogReader([long, paths[2]], ["%q%u@%d "])
    }
    assert years == {2026}


def test_a_containers_syslog_keeps_its_year_from_piece_to_piece(tmp_path: Path) -> None:
    paths = pieces(tmp_path, [f"Nov {day} 23:00:00 db1 postgres[77]: bob@app" for day in (22, 23, 24)])
    for path in paths:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        entries = [json.dumps({"log": line, "stream": "stderr", "time": "2026-11-25T00:00:00Z"}) for line in lines]
        path.write_text("\n".join(entries) + "\n", encoding="utf-8")
    times = [event[0] for event in ServerLogReader(paths, ["%q%u@%d "])]
    assert [later - earlier for earlier, later in pairwise(times)] == [86_400_000_000] * 2


def test_logs_that_overlap_are_named(tmp_path: Path) -> None:
    paths = pieces(tmp_path, [f"2026-11-23 0{hour}:00:00.500 UTC [77]" for hour in range(3)])
    both = tmp_path / "both"
    both.write_bytes(paths[0].read_bytes() + paths[2].read_bytes())
    said = next(iter(logs.warnings_of(read(LogFiles((paths[1], both))))))
    assert said.startswith(f'"{paths[1]}" begins before "{both}" ends: what both contain counts twice')


def test_a_file_that_is_missing_and_a_wrong_prefix_are_told_before_the_window(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["capture", "host=/nowhere", "--log", str(tmp_path / "gone")]) == 2
    assert "is not a file" in capsys.readouterr().err
    found = logged(tmp_path).paths[0]
    assert main(["capture", "host=/nowhere", "--log", str(found), "--without-load"]) == 2
    assert "--log and --without-load cannot be used together" in capsys.readouterr().err
    with pytest.raises(UsageError, match="no escape %z"):
        LogFiles(logged(tmp_path).paths, ("%z",)).check()


def test_what_will_be_read_names_the_log(tmp_path: Path) -> None:
    request = Request(5.0, logs=logged(tmp_path))
    for extensions, watched in (([], False), ([("pg_stat_statements", "1", "public")], True)):
        said = announcement(identify(FakeServer(the_extensions=extensions), request), request)
        assert "postgresql.log" in said
        assert ("the load is watched" in said) is watched


def test_the_servers_own_prefix_is_taken() -> None:
    server = FakeServer(the_settings=[("log_line_prefix", "%t %c ")], the_version=[IDENTITY])
    assert identify(server, Request()).log_line_prefix == "%t %c "
