"""One directory of planted runs for all tests that only read it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.live.served import client, planted


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory."""
    return planted(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def known(runs: Path) -> Iterator[TestClient]:
    """A browser of a whole run that has the token."""
    with client(runs / "one") as found:
        yield found


@pytest.fixture
def stranger(runs: Path) -> Iterator[TestClient]:
    """One that has not."""
    with client(runs / "one", token=False) as found:
        yield found
