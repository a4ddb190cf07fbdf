"""kill -9 of the lab at random moments: nothing of it goes on, stopped servers included, and what stays is known.

The moments are drawn from a seed that a failure names. Everything is looked for by the lab's mark or below the
journey's own place, since other labs may be at work on this machine.
"""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pgassay.host.keeper import VARIABLE
from pgassay.scratch import NOTES
from pgassay.testing import real
from tests.capture import web_shop
from tests.capture.watched import Watched, watched_shop
from tests.system.journeys import ANYWHERE, LONG_S, TINY, Place, finished, kill, wait_until

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(LONG_S)]
MOMENTS = 12
SPAN_S = 25.0
PATIENCE_S = 300.0
TURNS = ("--quick", "--levels", "table.fillfactor=100,75", "--set", "load.scale=1", "--set", "load.duration=8s",
         "--set", "load.warmup=0s", "--blocks", "5..5", "--pairing", "alternate")  # fmt: skip
ADVICE = ("--quick", "-s", "1", "-c", "1", "-j", "1", "-T", "1", "--set", "load.warmup=0s", "--only", "work_mem,jit")


@pytest.fixture(autouse=True)
def state(journey: Place, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory of its own: `doctor --repair` of these tests touches nobody else's."""
    monkeypatch.setenv("PGASSAY_STATE_DIR", str(journey.path / "state"))
    return journey.path / "state"


@pytest.fixture(scope="module")
def shop() -> Iterator[Watched]:
    with watched_shop(real.installation(), {"shared_buffers": "64MB"}) as found:
        yield found


@pytest.fixture
def captured(shop: Watched, journey: Place) -> Path:
    path = journey.path / "shop.capture"
    with web_shop.driven(shop.server.endpoint):
        done = journey.pgassay("capture", shop.conninfo(), "--for", "3s", "--out", str(path))
    assert done.returncode == 0, done.stderr
    return path


def family(journey: Place, lab: int) -> dict[int, str]:
    """Process id and state of all that is marked by this lab, and of servers and daemons below the journey's place."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            told = [*words, *(entry / "environ").read_bytes().split(b"\0")]
            marked = any(word.startswith(f"{VARIABLE}={lab}-".encode()) for word in told)
            below = (entry / "cwd").readlink().is_relative_to(journey.data) or any(
                os.fsencode(journey.data / "pgassay") in word for word in words
            )
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if (marked or below) and state != "Z" and int(entry.name) != lab:
                found[int(entry.name)] = state
    return found


def eventually(nothing: Callable[[], object]) -> object:
    """What is left of it after minutes of patience."""
    deadline = time.monotonic() + PATIENCE_S
    while (left := nothing()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def noted(state: Path) -> set[str]:
    """The places of the notes, without the journey's other processes."""
    notes = state / NOTES
    texts = [each.read_text() for each in notes.iterdir() if each.name != ".lock"] if notes.is_dir() else []
    return {path for text in texts if os.path.lexists(path := str(json.loads(text)["path"]))}


def files_left(journey: Place, state: Path) -> list[str]:
    """Temporary places, sessions, partial captures."""
    sessions = journey.data / "pgassay" / "sessions"
    inner = [str(path) for path in sessions.iterdir() if path.is_dir()] if sessions.is_dir() else []
    return [*noted(state), *inner, *map(str, journey.path.glob(".*.capture.*")), *map(str, journey.temporary.iterdir())]


def told(journey: Place, *words: str) -> dict[str, list[str]]:
    """What the doctor says is wrong of what killed runs left, by the check."""
    done = journey.pgassay("doctor", "--json", "--data-dir", str(journey.data), *words)
    found: dict[str, list[str]] = {}
    for each in json.loads(done.stdout):
        if each["check"] in ("killed_runs", "left_files", "left_processes") and each["severity"] != "ok":
            found.setdefault(each["check"], []).append(each["text"])
    return found


def keepers(lab: int) -> list[int]:
    """Process ids of the lab's keepers."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if any(word.startswith(f"{VARIABLE}={lab}-".encode()) for word in words):
                found.append(int(entry.name))
    return found


def end_both(process: "subprocess.Popen[str]") -> None:
    """Kill the lab and its keeper, as if at once: neither can act on the other's death."""
    process.send_signal(signal.SIGSTOP)
    for pid in keepers(process.pid):
        with suppress(ProcessLookupError):  # the lab has ended, and its keeper with it
            os.kill(pid, signal.SIGKILL)
    kill(process)


def require_gone(journey: Place, state: Path, process: "subprocess.Popen[str]", when: str) -> None:
    assert eventually(lambda: family(journey, process.pid)) == {}, when
    assert eventually(lambda: files_left(journey, state)) == [], when
    assert told(journey) == {}, when


def killed_at_random_moments(journey: Place, state: Path, start: Callable[[int], "subprocess.Popen[str]"]) -> None:
    """Two of three times the lab alone, else its keeper too; then the doctor has something to name and to repair."""
    seed = random.randrange(1 << 30)
    drawn = random.Random(seed)
    for number in range(MOMENTS):
        process = start(number)
        wait_s = drawn.uniform(0.3, SPAN_S)
        when = f"seed {seed}, kill {number} after {wait_s:.1f} s"
        with suppress(subprocess.TimeoutExpired):
            process.wait(wait_s)
        if number % 3 < 2:
            kill(process)
            require_gone(journey, state, process, when)
            continue
        end_both(process)
        before, said = noted(state), told(journey)
        names = " ".join(said.get("left_files", ()))
        assert [path for path in before if f'"{path}"' not in names and os.path.lexists(path)] == [], (when, said)
        told(journey, "--repair")
        require_gone(journey, state, process, when)


def test_a_run_whose_servers_take_turns(journey: Place, state: Path) -> None:
    killed_at_random_moments(
        journey, state,
        lambda number: journey.start("run", "fillfactor", *TURNS, *ANYWHERE, "--out", str(journey.runs / f"{number}")),
    )  # fmt: skip


def test_a_run_with_one_server_after_the_other(journey: Place, state: Path) -> None:
    killed_at_random_moments(
        journey, state,
        lambda number: journey.start("run", "fillfactor", *TINY, *ANYWHERE, "--out", str(journey.runs / f"{number}")),
    )  # fmt: skip


def test_an_advice(journey: Place, state: Path) -> None:
    killed_at_random_moments(
        journey, state,
        lambda number: journey.start("advise", *ADVICE, *ANYWHERE, "--out", str(journey.runs / f"{number}")),
    )  # fmt: skip


def test_a_question(journey: Place, state: Path, captured: Path) -> None:
    killed_at_random_moments(
        journey, state,
        lambda number: journey.start(
            "ask", str(captured), "--index", "CREATE INDEX ON orders (customer_id)", *web_shop.SHORT,
            "--out", str(journey.runs / f"{number}"),
        ),
    )  # fmt: skip


def test_a_capture(journey: Place, state: Path, shop: Watched) -> None:
    killed_at_random_moments(
        journey, state,
        lambda number: journey.start(
            "capture", shop.conninfo(), "--for", "15s", "--out", str(journey.path / f"{number}.capture")
        ),
    )  # fmt: skip


@pytest.mark.parametrize("both", [False, True])
def test_servers_that_stand_still_end_too(journey: Place, state: Path, both: bool) -> None:
    process = journey.start("run", "fillfactor", *TURNS, *ANYWHERE, "--out", str(journey.runs / "still"))
    wait_until(lambda: "T" in family(journey, process.pid).values(), process)
    if not both:
        kill(process)
        require_gone(journey, state, process, "in turns")
        return
    end_both(process)
    assert "T" in family(journey, process.pid).values(), "else this shows nothing"
    pids = " ".join(told(journey)["left_processes"])
    assert any(str(pid) in pids for pid in family(journey, process.pid)), pids
    told(journey, "--repair")
    require_gone(journey, state, process, "in turns, with its keeper")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_a_capture_and_its_partial_files(
    journey: Place, state: Path, shop: Watched, number: signal.Signals
) -> None:
    path = journey.path / "shop.capture"
    process = journey.start("capture", shop.conninfo(), "--for", "10min", "--out", str(path))
    wait_until(lambda: bool(list(journey.path.glob(".shop.capture.*"))), process)
    process.send_signal(number)
    done = finished(process)
    assert (done.returncode, "Traceback" in done.stderr) == (130, False)
    assert list(journey.path.glob("*.capture*")) == []
    require_gone(journey, state, process, "signalled")


def test_what_others_made_under_such_names_stays(journey: Place, state: Path) -> None:
    foreign = journey.temporary / "pgassay-sockets-000000000000"
    foreign.mkdir()
    (journey.temporary / "pgassay-linked").symlink_to(foreign)
    assert told(journey, "--repair") == {}
    assert foreign.is_dir()
    assert (journey.temporary / "pgassay-linked").is_symlink()
