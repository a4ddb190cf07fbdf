"""Scripts of a capture played together: what the server counted of them, with a player and a server that are fakes."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pgassay.capture import replaying
from pgassay.capture.format import Statement
from pgassay.capture.scripts import CapturedScript
from pgassay.interfaces.slices import LatencyHistogram, Slice
from pgassay.testing.fakes import FakeClock, FakeInstallation
from tests.fakes.runner import FakeRunner

SCRIPT = CapturedScript((Statement(1, "UPDATE t SET a = 1", 5, 1.0, 5),), "001", "UPDATE t SET a = 1;\n", 5)


def test_the_counters_are_read_when_the_players_sessions_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends them a moment after the player, and has their updates only then."""
    looks = [True, True, False]

    def alive(server: object, match: object, parameters: object) -> list[tuple[Any, ...]]:
        return [(1,)] if looks.pop(0) else []

    def counters(server: object, match: object, parameters: object) -> list[tuple[Any, ...]]:
        return [({"updates": 0.0 if looks else 5.0},)]

    latencies = LatencyHistogram(5, 5, 1, 1)
    played = SimpleNamespace(play=lambda duration_ms: Slice(0, 1, 1, latencies, scripts=(latencies,)))

    def player(*_: object) -> AbstractContextManager[SimpleNamespace]:
        return nullcontext(played)

    monkeypatch.setattr(replaying, "Player", player)
    installation = FakeInstallation(
        answers={
            "SELECT 1 FROM pg_stat_activity": alive,
            r"SELECT to_jsonb": counters,
            "CREATE EXTENSION": lambda server, match, parameters: [],
            "SELECT pg_stat_clear_snapshot": lambda server, match, parameters: [],
            r"SELECT quote_ident": lambda server, match, parameters: [("public",)],
            r"SELECT /\* ": lambda server, match, parameters: [],
        }
    )
    installation.initialize(tmp_path / "data", {})
    server = installation.start(tmp_path / "data", {}, tmp_path)
    found = replaying.play_alone([SCRIPT], replaying.Stage(server, FakeRunner(), FakeClock()), {})
    assert found is not None
    assert (found.counters, looks) == ({"updates": 5.0}, [])
