"""The processor's own counter: it is refused by name unless it really counts a loop."""

import errno
import io
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay import hardware_counter
from pgassay.errors import UsageError
from pgassay.hardware_counter import HardwareCounter
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.load import LoadResult
from pgassay.lab import counted
from pgassay.testing.fakes import FakeClock, FakeServer

LOOP = 200_000


class Event(io.FileIO):
    """An event whose count grows by so much at each reading."""

    def __init__(self, counts: Iterator[int], place: Path, running: int) -> None:
        place.touch()
        super().__init__(place)
        self._counts, self._running = counts, running

    def read(self, size: int | None = -1, /) -> bytes:
        return struct.pack("=QQQ", next(self._counts), 100, self._running)


def counter(monkeypatch: pytest.MonkeyPatch, place: Path, *counts: int, running: int = 100) -> HardwareCounter:
    read = iter(counts)
    monkeypatch.setattr(HardwareCounter, "_opened", lambda *asked: Event(read, place / "event", running))
    return HardwareCounter()


def refusing(monkeypatch: pytest.MonkeyPatch, number: int) -> HardwareCounter:
    def opened(*asked: object) -> io.FileIO:
        raise OSError(number, "no")

    monkeypatch.setattr(HardwareCounter, "_opened", opened)
    return HardwareCounter()


def test_a_counter_that_counts_a_loop_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counter(monkeypatch, tmp_path, 7, 7 + 10 * LOOP, 3, 4 + 10 * LOOP).require()


@pytest.mark.parametrize("counts", [(0, 0, 0, 0), (0, LOOP - 1, 0, LOOP - 1), (0, 5 * LOOP, 0, 6 * LOOP)])
def test_one_that_does_not_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, counts: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="in a loop of 200,000"):
        counter(monkeypatch, tmp_path, *counts).require()


def test_one_that_others_have_for_a_part_of_the_time_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="ran for 99% of the time only"):
        counter(monkeypatch, tmp_path, 0, 10 * LOOP, running=99).require()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EACCES, r"kernel.perf_event_paranoid = 3, or a container, forbids it"),
        (errno.EPERM, r"kernel.perf_event_paranoid = 3, or a container, forbids it"),
        (errno.ENOENT, "this machine has none"),
        (errno.EOPNOTSUPP, "this machine has none"),
    ],
)
def test_why_it_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int, words: str
) -> None:
    (tmp_path / "paranoid").write_text("3\n")
    monkeypatch.setattr(hardware_counter, "_PARANOID", tmp_path / "paranoid")
    with pytest.raises(UsageError, match=words) as raised:
        refusing(monkeypatch, number).require()
    assert "Valgrind" in (raised.value.hint or "")
    with pytest.raises(BenchError, match=words), refusing(monkeypatch, number).window(1, ()):
        pytest.fail("a window without a counter")


def test_a_window_in_which_nothing_was_counted_has_no_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with counter(monkeypatch, tmp_path, 0).window(1, ()) as executed:
        assert executed() == ()
    with counter(monkeypatch, tmp_path, 12).window(1, ()) as executed:
        (found,) = executed()
    assert (found.instructions, found.functions, found.modelled_misses) == (12.0, {}, {})


@pytest.mark.parametrize("error", [BenchError("the load failed"), KeyboardInterrupt()])
def test_an_event_is_closed_where_its_load_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: BaseException
) -> None:
    event = Event(iter(()), tmp_path / "event", 100)
    monkeypatch.setattr(HardwareCounter, "_opened", lambda *asked: event)
    server = FakeServer.__new__(FakeServer)

    def play() -> LoadResult:
        raise error

    with pytest.raises(type(error)):
        counted.window(HardwareCounter(), server, FakeClock(), play)
    assert event.closed
