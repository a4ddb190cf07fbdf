"""A place of root's that every test must leave as it was."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pgassay.testing import real
from tests.security.attackers import fingerprint


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory of the servers' account that every account may enter, on the file system of `precious`."""
    with real.private_folder() as made:
        made.chmod(0o711)
        yield made


@pytest.fixture
def precious(folder: Path) -> Iterator[Path]:
    """Files and folders of root's beside it: whatever an attacker leads us to, they stay byte for byte."""
    place = folder / "precious"
    (place / "inner").mkdir(parents=True)
    place.chmod(0o755)
    for name in ("postgresql.conf", "server.key", "inner/1259", "postmaster.pid", "PGASSAY_OWNER"):
        (place / name).write_text(f"{name} of root\n" * 500)
        (place / name).chmod(0o644 if name.endswith("conf") else 0o600)
    before = fingerprint(place)
    yield place
    assert fingerprint(place) == before
