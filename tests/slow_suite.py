"""Runs all slow tests, several files at a time: most of their seconds are spent waiting for a load to end.

A file runs in one process, so that its tests share what they share; the longest begin first, and what is marked `alone`
runs at the end with nothing beside it. What passed is remembered for this very tree, so that `make test-full` can be
interrupted and goes on where it was. A test that hangs beyond its limit is interrupted, named, and has failed.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pgassay.untrusted import json_lines
from tests.slow_results import BEGAN, COLLECTED, FAILED, PASSED, SKIPPED
from tests.slow_share import ROOT, SECONDS, UNKNOWN_S, SlowTest, collected, end, interruptible, pytest_words

KEPT = ROOT / "target" / "slow-tests"
JOBS = 3
PATIENCE_S = 300.0
"""A test ends by its own limit; one that does not even so long after it (in C, or in its clean-up) is interrupted."""
POLL_S = 2.0
SAID_LINES = 60
"""How much of a failed file's output is shown."""
UNKNOWN_TREE = "unknown"


@dataclass(frozen=True)
class Batch:
    """The tests of one file that run in one process."""

    file: str
    tests: tuple[str, ...]
    expected_s: float
    alone: bool = False


@dataclass(frozen=True)
class Result:
    """How a test ended: passed, skipped or failed, or that it only began."""

    event: str
    seconds: float = 0.0


def batches(tests: Iterable[SlowTest], seconds: Mapping[str, float]) -> list[Batch]:
    """One a file, the longest first, those that must be alone last; a file is split only by that mark."""
    found: dict[tuple[str, bool], list[str]] = {}
    for test in tests:
        found.setdefault((test.file, test.alone), []).append(test.name)
    made = [
        Batch(file, tuple(names), sum(seconds.get(name, UNKNOWN_S) for name in names), alone)
        for (file, alone), names in found.items()
    ]
    return sorted(made, key=lambda batch: (batch.alone, -batch.expected_s, batch.file))


def results(path: Path) -> dict[str, Result]:
    """The last thing known of each test that has begun."""
    return {
        str(each["test"]): Result(str(each["event"]), float(str(each.get("seconds", 0.0))))
        for each in json_lines(path)
        if each["event"] != COLLECTED
    }


def done(found: Mapping[str, Result]) -> set[str]:
    """Those that need not run again on the same tree."""
    return {test for test, result in found.items() if result.event in (PASSED, SKIPPED)}


def tree() -> str:
    """The hash of all files as they are now, committed or not; `unknown` where git knows none of them."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GIT_INDEX_FILE": str(Path(folder) / "index")}
        said = ""
        for words in (["read-tree", "HEAD"], ["add", "--all"], ["write-tree"]):
            told = subprocess.run(
                ["git", *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
            )
            if told.returncode != 0:
                return UNKNOWN_TREE
            said = told.stdout.strip()
    return said


def overdue(path: Path, now_s: float) -> str | None:
    """The test that is still running long after its limit."""
    *_, last = (None, *json_lines(path))
    if last is None or last["event"] != BEGAN or not last["limit_s"]:
        return None
    ended_s = float(str(last["at_s"])) + float(str(last["limit_s"])) + PATIENCE_S
    return str(last["test"]) if now_s > ended_s else None


def run_batch(batch: Batch, folder: Path, stop: threading.Event) -> dict[str, Result]:
    """Run it, show what it said if it failed, and add its results to the folder's; interrupted where `stop` is set."""
    name = batch.file.replace("/", "-").removesuffix(".py") + ("-alone" if batch.alone else "")
    path, log = folder / f"{name}.jsonl", folder / f"{name}.log"
    path.unlink(missing_ok=True)
    began_s = time.monotonic()
    with log.open("wb") as said:
        process = subprocess.Popen(
            pytest_words(path, *batch.tests), cwd=ROOT, stdout=said, stderr=said, start_new_session=True
        )
        hung = _waited_for(process, path, stop)
    found = results(path)
    if hung is not None:
        found[hung] = Result(FAILED)
    with (folder / "results.jsonl").open("a", encoding="utf-8") as file:
        for test, result in found.items():
            file.write(json.dumps({"test": test, "event": result.event, "seconds": result.seconds}) + "\n")
    failed = [test for test in batch.tests if test not in done(found)]
    took = f"{batch.file}: {len(batch.tests) - len(failed)} of {len(batch.tests)} in {time.monotonic() - began_s:.0f} s"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-SAID_LINES:] if failed else []
    print("\n".join([*lines, took]), flush=True)
    return found


def _waited_for(process: "subprocess.Popen[bytes]", path: Path, stop: threading.Event) -> str | None:
    """Wait for its end; the test that had to be interrupted because it hung."""
    while True:
        try:
            process.wait(POLL_S)
        except subprocess.TimeoutExpired:
            hung = overdue(path, time.time())
            if hung is None and not stop.is_set():
                continue
            end(process)
            return hung
        return None


def run_all(made: Sequence[Batch], folder: Path, jobs: int) -> None:
    """`jobs` files at a time, then those that must be alone; Ctrl-C lets running tests clean up, and starts no more."""
    stop = threading.Event()
    for alone in (False, True):
        with ThreadPoolExecutor(1 if alone else jobs) as pool:
            try:
                turn = [each for each in made if each.alone == alone]
                list(pool.map(lambda batch: run_batch(batch, folder, stop), turn))
            except BaseException:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def report(tests: Iterable[SlowTest], found: Mapping[str, Result], folder: Path) -> str:
    """What failed and what has not run, and where the whole output is."""
    names = [test.name for test in tests]
    bad = {name: found[name].event if name in found else "did not run" for name in names if name not in done(found)}
    lines = [f"{'hung or was cut short' if event == BEGAN else event}: {name}" for name, event in bad.items()]
    skipped = sum(found[name].event == SKIPPED for name in names if name in found)
    lines.append(
        f"{len(names) - len(bad)} of {len(names)} slow tests passed, {skipped} of them by a skip; see {folder}"
    )
    return "\n".join(lines)


def keep_seconds(tests: Iterable[SlowTest], found: Mapping[str, Result]) -> None:
    """Write how long each took into slow_seconds.json, and forget tests that are gone."""
    known: dict[str, float] = json.loads(SECONDS.read_text(encoding="utf-8"))
    passed = {name: max(1, round(result.seconds)) for name, result in found.items() if result.event == PASSED}
    kept = {**known, **passed}
    names = sorted(test.name for test in tests)
    SECONDS.write_text(json.dumps({name: kept[name] for name in names if name in kept}, indent=2) + "\n", "utf-8")


def main() -> int:
    """Exit status 1 unless every slow test passed on this tree, now or before."""
    parser = argparse.ArgumentParser(prog="python -m tests.slow_suite", description="Run all slow tests.")
    parser.add_argument("--jobs", type=int, default=JOBS, help="files at a time")
    parser.add_argument("--again", action="store_true", help="also what has passed on this tree before")
    parser.add_argument("--keep-seconds", action="store_true", help="write how long each took to slow_seconds.json")
    arguments = parser.parse_args()
    interruptible()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    name = tree()
    folder = KEPT / name
    if arguments.again or name == UNKNOWN_TREE:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    tests = collected(folder)
    passed = done(results(folder / "results.jsonl"))
    left = [test for test in tests if test.name not in passed]
    print(f"{len(tests)} slow tests, {len(tests) - len(left)} of them passed on this tree before", flush=True)
    seconds: dict[str, float] = json.loads(SECONDS.read_text(encoding="utf-8"))
    try:
        run_all(batches(left, seconds), folder, arguments.jobs)
    except KeyboardInterrupt:
        print("interrupted; called again it goes on with what has not passed")
    found = results(folder / "results.jsonl")
    print(report(tests, found, folder))
    if arguments.keep_seconds:
        keep_seconds(tests, found)
    return 1 if {test.name for test in tests} - done(found) else 0


if __name__ == "__main__":
    sys.exit(main())
