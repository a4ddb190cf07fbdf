"""A place for each journey, and skipping by name where there is no PostgreSQL."""

from collections.abc import Iterator

import pytest

from pgassay.testing import real
from tests.system.journeys import Place, place


@pytest.fixture(scope="session")
def postgres() -> None:
    """Skips where this machine has no PostgreSQL with pgbench."""
    real.installation()


@pytest.fixture
def journey(postgres: None) -> Iterator[Place]:
    """A place of the test's own."""
    with place() as found:
        yield found
