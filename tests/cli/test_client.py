"""`--client` and `--scheduler`: what is refused before anything runs, and what a plan says without asking anybody."""

import pytest

from pgassay.cli import main

PLAN = ("run", "fillfactor", "--quick", "--dry-run", "--allow-busy", "--allow-volatile")
pytestmark = pytest.mark.system


def tried(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main([*PLAN, *words])
    said = capsys.readouterr()
    return status, said.out + said.err


def test_a_plan_holds_the_load_at_its_host_and_asks_no_scheduler(capsys: pytest.CaptureFixture[str]) -> None:
    turns = ("--pairing", "alternate", "--set", "load.checkpoint=none")
    status, said = tried(capsys, "--client", "host2", "--scheduler", "tcp://127.0.0.1:1", *turns)
    assert status == 0, said
    assert "load.host=host2" in said


def test_a_plan_has_a_list_of_many_lines_in_one(capsys: pytest.CaptureFixture[str]) -> None:
    """The fourteen scripts of a captured load stood in one line, with their paths and what a line's end is called."""
    status, said = tried(capsys, "--set", "load.variables=a=1\nb=2\nc=3")
    assert status == 0, said
    assert "load.variables=a=1 and 2 more" in said
    assert "u000a" not in said


def test_without_a_scheduler_a_plan_names_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    status, said = tried(capsys, "--client", "host2")
    assert status == 1, "a run would be refused"
    assert 'the worker "host2", and nothing leads to it' in said


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("--client", "two words"), '"load.host" must be here, loopback or the name of a worker'),
        (("--client", "host2", "--scheduler", "nowhere"), "is not an address of a scheduler"),
        (("--client", "host2", "--scheduler", "tcp://192.0.2.1:8786"), "is not encrypted"),
        (("--client", "host2", "--scheduler", "tcp://127.0.0.1:1", "--set", "load.cores=rest"), "load.cores"),
        (("--client", "h2", "--scheduler", "tcp://127.0.0.1:1", "--on", "tcp://127.0.0.1:1"), "cannot be used"),
        (("--snapshots-in", "/kept", "--on", "tcp://127.0.0.1:1"), "--on and --snapshots-in cannot be used together"),
    ],
)
def test_what_cannot_be_is_refused(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], refusal: str) -> None:
    status, said = tried(capsys, *words)
    assert status != 0
    assert refusal in said
