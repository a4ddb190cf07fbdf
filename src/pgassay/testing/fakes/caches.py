"""A page cache that only says what was asked of it: `calls` logs it."""

from pathlib import Path


class FakeCaches:
    """See `lab.site.Caches`."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def make_cold(self, directory: Path) -> str:
        """Log it."""
        self.calls.append(f"cold {directory.name}")
        return "made cold"

    def make_warm(self, directory: Path) -> str:
        """Log it."""
        self.calls.append(f"warm {directory.name}")
        return "made warm"
