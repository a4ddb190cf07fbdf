"""Server-sent events of one run: its progress when the record changes, its seconds as they come.

Nothing is looked at while nobody watches. A browser that loses the connection comes back by itself and is told all
again (HTML Living Standard, "Server-sent events").

Servers that take turns tell of each turn; a trial that has the machine to itself tells of each second. Counters are
cumulative, so two readings make a rate; one that went down was reset and makes none.

"""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
from starlette.concurrency import run_in_threadpool

from pgassay import untrusted
from pgassay.errors import PgassayError
from pgassay.live.catalogue import signature
from pgassay.live.figures import PANELS
from pgassay.live.progress import Watched, report_failed
from pgassay.outgoing import values
from pgassay.record import directory, live_sample, trials
from pgassay.record.directory import holder
from pgassay.record.disk import RealDisk
from pgassay.record.journal import Kind
from pgassay.record.live_sample import LiveSample
from pgassay.record.reading import Run
from pgassay.report.json_values import finite

_TPS, _LATENCY, _WAL, _WRITTEN, _READ, _BACKENDS = PANELS
_PROGRESS = re.compile(r"progress: ([\d.]+) s, ([\d.]+) tps, lat ([\d.]+) ms\b.*")
_PROGRESS_FILE = "pgbench.err"
_TAIL_BYTES = 1 << 16
_MB = 1 << 20
_NOT_WAITS = frozenset({"looks", "all"})


@dataclass(frozen=True)
class Row:
    """A point of a line: its panel, its series, seconds since the first line of its trial or block, its value."""

    panel: str
    series: str
    second: float
    value: float


@dataclass
class _Trial:
    arm: str
    offset: int = 0
    progress_s: float = 0.0


class Seconds:
    """What is new since it was last asked, for one who watches."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._trials: dict[str, _Trial] = {}
        self._began_ns: int | None = None
        self._last: dict[tuple[str, str], LiveSample] = {}

    def more(self) -> tuple[bool, list[Row]]:
        """Do others run than before, none of them known, so that what was shown is over? And the new points.

        The trials of a block in turns come and go one by one; what is shown of the others stays.
        """
        try:
            staged = trials.scan(RealDisk(), self._run).staging
        except OSError:
            return False, []
        fresh = bool(staged) and not set(staged) & set(self._trials)
        if fresh:
            self._began_ns = None
            self._last.clear()
        if set(staged) - set(self._trials):
            arms = self._arms()
            new = {name: _Trial(arms.get(int(name.rpartition("-")[2]), name)) for name in staged}
            self._trials = {**new, **self._trials}
        self._trials = {name: self._trials[name] for name in staged}
        rows: list[Row] = []
        for name, trial in self._trials.items():
            folder = self._run / trials.DIRECTORY / name
            found, trial.offset = live_sample.read(folder, trial.offset)
            for each in found:
                rows += self._rows(trial.arm, each)
            rows += _pgbench_progress(folder, trial)
        return fresh, rows

    def _arms(self) -> Mapping[int, str]:
        """The last arm that was begun under each number."""
        try:
            journal = Run.open(self._run, leave_out=True).journal
        except Exception:  # whatever is wrong with the record is told elsewhere on the page
            return {}
        begun = (each.data for each in journal if each.kind == Kind.TRIAL_STARTED)
        return {each["number"]: str(each.get("arm", "")) for each in begun if isinstance(each.get("number"), int)}

    def _rows(self, arm: str, now: LiveSample) -> Iterator[Row]:
        self._began_ns = now.monotonic_ns if self._began_ns is None else self._began_ns
        second = (now.monotonic_ns - self._began_ns) / 1e9
        if now.source == "slices":
            for name, panel, unit in (
                ("tps", _TPS, 1.0), ("latency_ms", _LATENCY, 1.0),
                ("written_bytes_per_s", _WRITTEN, _MB), ("read_bytes_per_s", _READ, _MB),
            ):  # fmt: skip
                value = now.values.get(name)
                if value is not None:
                    yield Row(panel, arm, second, value / unit)
            return
        before = self._last.get((arm, now.source))
        self._last[arm, now.source] = now
        if before is None or now.monotonic_ns <= before.monotonic_ns:
            return
        passed_s = (now.monotonic_ns - before.monotonic_ns) / 1e9
        gone = _differences(before, now)
        for source, name, panel in (
            ("wal", "wal_bytes", _WAL), ("diskstats", "written_bytes", _WRITTEN), ("diskstats", "read_bytes", _READ),
        ):  # fmt: skip
            if now.source == source and name in gone:
                yield Row(panel, arm, second, gone[name] / passed_s / _MB)
        looks = gone.get("looks", 0.0)
        if now.source == "waits" and looks > 0:
            yield from (
                Row(_BACKENDS, name.replace("_", " "), second, value / looks)
                for name, value in gone.items()
                if name not in _NOT_WAITS
            )


def _differences(before: LiveSample, now: LiveSample) -> Mapping[str, float]:
    found = {}
    for name, value in now.values.items():
        sooner = before.values.get(name)
        if value is not None and sooner is not None and value >= sooner:
            found[name] = value - sooner
    return found


def _pgbench_progress(folder: Path, trial: _Trial) -> Iterator[Row]:
    """The lines of pgbench's progress report that were not there before; other loads have none."""
    try:
        with untrusted.open_file(folder / _PROGRESS_FILE, links=False) as file:
            file.seek(max(0, file.seek(0, 2) - _TAIL_BYTES))
            text = file.read(_TAIL_BYTES).decode(errors="replace")
    except OSError:
        return
    for found in map(_PROGRESS.fullmatch, text.splitlines()):
        if found is None or (second := float(found[1])) <= trial.progress_s:
            continue
        trial.progress_s = second
        yield Row(_TPS, trial.arm, second, float(found[2]))
        yield Row(_LATENCY, trial.arm, second, float(found[3]))


EVERY_S = 1.0
QUIET_S = 15.0
"""After so long without news a comment keeps the connection open."""
_AGAIN_MS = 2000


async def events(
    watched: Watched, every_s: float = EVERY_S, ending: Callable[[], bool] = lambda: False
) -> AsyncGenerator[bytes, None]:
    """Events `progress`, `seconds` and `fault`, as long as somebody reads them.

    While the server is `ending` the record is looked at once more: so a page hears that its run has finished.
    """
    yield f"retry: {_AGAIN_MS}\n\n".encode()
    looks, quiet_s = _Looks(watched), 0.0
    while True:
        last = ending()
        news = await run_in_threadpool(looks.news)
        quiet_s = 0.0 if news else quiet_s + every_s
        if quiet_s >= QUIET_S:
            news, quiet_s = b": still here\n\n", 0.0
        if news:
            yield news
        if last:
            return
        await asyncio.sleep(every_s)


class _Looks:
    """What is new since the last look, for one who watches: one turn of a thread a second."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._seconds = Seconds(watched.path)
        self._known: object = None

    def news(self) -> bytes:
        """The events of one look; empty where nothing changed."""
        told = b""
        now = _stamp(self._watched)
        if now != self._known:
            self._known = now
            told = _progress(self._watched)
        fresh, rows = self._seconds.more()
        return told + event("seconds", {"fresh": fresh, "rows": rows}) if fresh or rows else told


def _stamp(watched: Watched) -> object:
    return signature(watched.path), holder(watched.path), directory.stop_is_asked(RealDisk(), watched.path)


def _progress(watched: Watched) -> bytes:
    try:
        return event("progress", watched.progress())
    except (PgassayError, OSError) as failure:
        return event("fault", {"text": str(failure)})
    except Exception as failure:  # others may have written the record, and a page that goes on is worth more
        return event("fault", {"text": report_failed(failure)})


def event(name: str, value: object) -> bytes:
    """One event; JSON has no line ends of its own, so its data are one line."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(values(finite(value))))
