"""The unit that goes on after a reboot: what it says, whose it is, and that it goes with its run."""

from pathlib import Path

import pytest

from pgassay.bench.errors import BenchError
from pgassay.host.reboot import Continuation, unit_text
from tests.fakes.runner import FakeRunner

COMMAND = ("/usr/bin/python3", "-m", "pgassay", "resume", "/srv/50% of $x/run", "--reboot-between-blocks")


def continuation(root: Path, *command: str) -> Continuation:
    return Continuation(FakeRunner(), command or COMMAND, (Path("/srv"), Path("/var/tmp")), root)


def test_the_unit_starts_us_again_at_boot_when_the_places_are_mounted(tmp_path: Path) -> None:
    mine = continuation(tmp_path)
    mine.install({"PATH": "/bin", "PGASSAY_STATE_DIR": "/s", "SECRET": "x", "PGPASSWORD": "y"})
    said = mine.unit.read_text().splitlines()
    assert (
        'ExecStart="/usr/bin/python3" "-m" "pgassay" "resume" "/srv/50%% of $$x/run" "--reboot-between-blocks"' in said
    )
    assert 'RequiresMountsFor="/srv" "/var/tmp"' in said
    assert [line for line in said if line.startswith("Environment")] == [
        'Environment="PATH=/bin"', 'Environment="PGASSAY_STATE_DIR=/s"',
    ]  # fmt: skip
    link = tmp_path / "etc/systemd/system/multi-user.target.wants/pgassay-continue.service"
    assert link.readlink() == Path("/etc/systemd/system/pgassay-continue.service")
    mine.install({})
    mine.remove()
    assert not mine.unit.exists()
    assert not link.is_symlink()
    mine.remove()


def test_another_runs_unit_is_left_alone(tmp_path: Path) -> None:
    other = continuation(tmp_path, "/usr/bin/python3", "-m", "pgassay", "resume", "/srv/other")
    other.install({})
    with pytest.raises(BenchError, match="another run"):
        continuation(tmp_path).install({})
    continuation(tmp_path).remove()
    assert other.unit.exists()


def test_under_another_root_nothing_is_rebooted(tmp_path: Path) -> None:
    runner = FakeRunner()
    mine = Continuation(runner, COMMAND, (), tmp_path)
    mine.reboot()
    assert not mine.stopping()
    assert runner.calls == []


def test_words_that_no_unit_can_hold_are_refused() -> None:
    with pytest.raises(BenchError, match="unit file"):
        unit_text(("a\nb",), (), {})
