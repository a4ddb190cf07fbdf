"""What tests of a fleet with real servers share."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that the account of servers may enter; pytest closes its own ones whenever it starts."""
    with TemporaryDirectory(prefix="pgassay-fleet-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
