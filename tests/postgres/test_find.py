"""Finding PostgreSQL in made-up file systems: the order, what is passed over, what is said when nothing is there."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.places import Account
from pgassay.interfaces.running import Completed
from pgassay.lab.places import STAND_IN, stand_in
from pgassay.plugins import install_command
from pgassay.postgres import find
from pgassay.postgres.find import Finder
from pgassay.testing.fakes import FakeClock
from tests.fakes.runner import FakeRunner

SCRIPT = "#!/bin/sh\n"


class Programs(FakeRunner):
    """Answers `postgres --version` with what stands in the program's file, and pg_config with a directory."""

    def __init__(self, configured: Path | None = None) -> None:
        super().__init__({"pg_config": lambda arguments, given: (0, f"{configured}\n", "")} if configured else {})

    def run(self, command: Sequence[str], **options: object) -> Completed:
        """Programs of the made-up file system say what stands in them; an empty one fails."""
        if Path(command[0]).name != "postgres":
            return super().run(command)
        text = Path(command[0]).read_text().removeprefix(SCRIPT)
        return Completed(tuple(command), 0 if text else 126, text, "" if text else "Permission denied")


def install(bindir: Path, version: str, programs: Sequence[str] = find.PROGRAMS) -> Path:
    bindir.mkdir(parents=True)
    for program in programs:
        path = bindir / program
        path.write_text(f"{SCRIPT}postgres (PostgreSQL) {version}" if version else SCRIPT)
        path.chmod(0o755)
    return bindir


def _finder(
    root: Path, configured: Path | None = None, wheel: Path | None = None, environment: Mapping[str, str] | None = None
) -> Finder:
    account = Account(None, 1000, 1000)
    return Finder(Programs(configured), FakeClock(), account, environment or {}, root, lambda: wheel)


def test_the_documented_order_each_once(tmp_path: Path) -> None:
    distribution = [install(tmp_path / f"usr/lib/postgresql/{major}/bin", f"{major}.2") for major in (13, 17, 15)]
    install(tmp_path / "usr/pgsql-16/bin", "16.1")
    install(tmp_path / "usr/local/pgsql/bin", "18.0")
    install(tmp_path / "opt/homebrew/opt/postgresql@14/bin", "14.9")
    wheel = tmp_path / "wheel"
    install(wheel / "pginstall18/bin", "18.4")
    install(wheel / "pginstall/bin", "16.14")
    found = [(each.found_by, str(each.version)) for each in _finder(tmp_path, distribution[2], wheel).all()]
    assert found == [
        ("pg_config", "15.2"),
        ("distribution", "17.2"),
        ("distribution", "13.2"),
        ("pgdg", "16.1"),
        ("local", "18.0"),
        ("homebrew", "14.9"),
        ("embedded", "18.4"),
        ("embedded", "16.14"),
    ]


def test_the_first_or_the_asked_version_is_taken(tmp_path: Path) -> None:
    for version in ("15.2", "17.5"):
        install(tmp_path / f"usr/lib/postgresql/{version.split('.')[0]}/bin", version)
    finder = _finder(tmp_path)
    assert str(finder.find().version) == "17.5"
    assert str(finder.find("15").version) == "15.2"
    assert str(finder.find("17.5").version) == "17.5"
    with pytest.raises(UsageError, match=r"17\.6 was not found") as caught:
        finder.find("17.6")
    assert caught.value.hint is not None
    assert "17.5, 15.2" in caught.value.hint


def test_what_is_incomplete_too_old_or_broken_is_passed_over(tmp_path: Path) -> None:
    install(tmp_path / "usr/lib/postgresql/18/bin", "18.1", ("postgres", "initdb"))
    install(tmp_path / "usr/lib/postgresql/17/bin", "")
    install(tmp_path / "usr/lib/postgresql/12/bin", "12.3")
    install(tmp_path / "usr/lib/postgresql/16/bin", "16.3")
    assert [str(each.version) for each in _finder(tmp_path).all()] == ["16.3"]


def test_a_wrapper_directory_such_as_debians_usr_bin_is_no_postgres(tmp_path: Path) -> None:
    wrappers = install(tmp_path / "usr/bin", "15.2", ("pgbench", "psql"))
    with pytest.raises(UsageError, match="it has no postgres, initdb") as caught:
        _finder(tmp_path).named(wrappers)
    assert caught.value.hint
    real = install(tmp_path / "usr/lib/postgresql/15/bin", "15.2")
    assert _finder(tmp_path, configured=wrappers).find().bindir == real


@pytest.mark.parametrize(("version", "words"), [("", "does not run: Permission denied"), ("12.1", "not supported")])
def test_a_named_directory_must_hold(tmp_path: Path, version: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        _finder(tmp_path).named(install(tmp_path / "mine", version))


def test_the_variable_comes_first_and_must_hold(tmp_path: Path) -> None:
    install(tmp_path / "usr/lib/postgresql/17/bin", "17.5")
    mine = install(tmp_path / "mine", "14.1")
    finder = _finder(tmp_path, environment={find.VARIABLE: str(mine)})
    assert (str(finder.find().version), finder.find().found_by) == ("14.1", "environment")
    assert str(finder.find("17").version) == "17.5"
    with pytest.raises(UsageError, match="not a PostgreSQL bin directory"):
        _finder(tmp_path, environment={find.VARIABLE: str(tmp_path / "typo")}).find()


def test_a_named_directory_serves_its_own_version_and_no_other(tmp_path: Path) -> None:
    install(tmp_path / "usr/lib/postgresql/15/bin", "15.2")
    mine = install(tmp_path / "mine/bin", "16.4")
    finder = _finder(tmp_path)
    assert [str(finder.find(version, mine).version) for version in (None, "16", "15")] == ["16.4", "16.4", "15.2"]
    with pytest.raises(UsageError) as refused:
        finder.find("17", mine)
    assert refused.value.hint == "found: 16.4, 15.2; name another with --pg-bindir"


def test_nothing_anywhere_says_what_helps(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no PostgreSQL") as caught:
        _finder(tmp_path).find()
    assert caught.value.hint is not None
    assert install_command("embedded") in caught.value.hint


def test_the_wheel_is_found_without_importing_it() -> None:
    import sys

    find.wheel_directory()
    assert find.WHEEL not in sys.modules


def test_a_plan_takes_an_installed_postgres_for_a_build_that_is_missing(tmp_path: Path) -> None:
    install(tmp_path / "usr/lib/postgresql/15/bin", "15.18")
    finder = _finder(tmp_path)
    for version in ("", "15", "17"):
        found = stand_in(finder, version)
        assert (str(found.version), found.found_by) == ("15.18", STAND_IN)
    with pytest.raises(UsageError, match="no PostgreSQL"):
        stand_in(_finder(tmp_path / "empty"), "")
