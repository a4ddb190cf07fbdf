"""The journal: what is written is read, a torn end is distinguished from damage, a failed write leaves no half line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgassay.record.errors import DamagedError, RecordError
from pgassay.record.journal import LINE_BYTES_MAX, Entry, Journal, Kind, encode, parse
from tests.fakes.disk import FakeDisk, Fault, Survival
from tests.record.runs import ROOT, RUN, clock, fake_disk

PATH = ROOT / "journal.jsonl"
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def lines(count: int) -> bytes:
    return b"".join(encode(Entry(seq, 10**18, "decision", {"trial": seq})) for seq in range(1, count + 1))


def started(disk: FakeDisk) -> Journal:
    disk.write_file(PATH, b"")
    disk.sync_directory(ROOT)
    return Journal(disk, PATH, (), 0, clock())


@given(st.lists(st.dictionaries(st.text(max_size=8), PLAIN, max_size=4), min_size=1, max_size=4))
def test_what_is_written_is_read(several: list[dict[str, object]]) -> None:
    entries = tuple(Entry(seq, seq, "decision", data) for seq, data in enumerate(several, 1))
    parsed = parse(b"".join(encode(entry) for entry in entries), RUN)
    assert (parsed.entries, parsed.torn_bytes) == (entries, 0)


@given(st.integers(0, 10_000), st.booleans())
def test_any_beginning_is_whole_lines_and_a_torn_end(cut: int, zeros: bool) -> None:
    data = lines(4)
    cut %= len(data)
    torn = data[:cut] + (bytes(len(data) - cut) if zeros else b"")
    whole = data[:cut].count(b"\n")
    if whole == 0:
        with pytest.raises(DamagedError, match="no whole line"):
            parse(torn, RUN)
    else:
        parsed = parse(torn, RUN)
        assert len(parsed.entries) == whole
        assert parsed.good_bytes + parsed.torn_bytes == len(torn)
        assert data[: parsed.good_bytes].endswith(b"\n")


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_any_changed_byte_is_found(place: int, change: int) -> None:
    """It is damage that names the line; in the last line it may also look like a torn end."""
    data = bytearray(lines(4))
    place %= len(data)
    data[place] ^= change
    line = lines(4)[:place].count(b"\n") + 1
    try:
        entries = parse(bytes(data), RUN).entries
    except DamagedError as found:
        assert f"line {line} of journal.jsonl" in found.message  # noqa: PT017
    else:
        assert (line, len(entries)) == (4, 3)


def test_a_lost_newline_before_the_last_line_is_not_taken_for_a_torn_end() -> None:
    kept = lines(4).splitlines(keepends=True)
    with pytest.raises(DamagedError, match=r"line 3 of journal.jsonl"):
        parse(b"".join([kept[0], kept[1], kept[2].replace(b"\n", b"\v"), kept[3]]), RUN)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_lost_line_is_found(lost: int) -> None:
    kept = lines(4).splitlines(keepends=True)
    del kept[lost]
    with pytest.raises(DamagedError, match=f"line {lost + 1} of journal.jsonl is numbered {lost + 2}"):
        parse(b"".join(kept), RUN)


def test_a_doubled_line_is_found() -> None:
    kept = lines(3).splitlines(keepends=True)
    with pytest.raises(DamagedError, match=r"line 3 of journal.jsonl is numbered 2"):
        parse(b"".join([kept[0], kept[1], kept[1], kept[2]]), RUN)


@pytest.mark.parametrize("fault", [Fault.FULL, Fault.BROKEN])
def test_after_a_failed_write_the_next_line_is_whole(fault: Fault) -> None:
    disk = fake_disk()
    journal = started(disk)
    journal.append(Kind.DECISION, {"trial": 1})
    disk.faults = {len(disk.steps) + 1: fault}
    with pytest.raises(RecordError, match="could not write the journal"):
        journal.append(Kind.DECISION, {"trial": 2})
    journal.append(Kind.INTERRUPTED, {"reason": "disk full"})
    parsed = parse(disk.read(PATH), RUN)
    assert [entry.kind for entry in parsed.entries] == ["decision", "interrupted"]
    assert parsed.entries == journal.entries


def test_a_journal_that_cannot_be_put_right_takes_no_more_lines() -> None:
    disk = fake_disk()
    journal = started(disk)
    journal.append(Kind.DECISION, {"trial": 1})
    disk.faults = {len(disk.steps) + 1: Fault.FULL, len(disk.steps) + 2: Fault.BROKEN}
    with pytest.raises(RecordError, match="could not write the journal"):
        journal.append(Kind.DECISION, {"trial": 2})
    with pytest.raises(RecordError, match="no more lines are written"):
        journal.append(Kind.DECISION, {"trial": 2})
    assert parse(disk.read(PATH), RUN).torn_bytes > 0


def test_a_line_is_durable_when_append_returns() -> None:
    disk = fake_disk()
    started(disk).append(Kind.RUN_STARTED, {"seed": 1})
    disk.reboot(Survival.LOST)
    (entry,) = parse(disk.read(PATH), Path("/x")).entries
    assert (entry.seq, entry.kind, entry.data) == (1, "run_started", {"seed": 1})


def test_a_line_has_a_limit() -> None:
    with pytest.raises(RecordError, match="exceeds the limit"):
        started(fake_disk()).append(Kind.DECISION, {"arm": "x" * LINE_BYTES_MAX})
