"""A page cache that only says what was asked of it: `calls` logs it."""

from pathlib import Path


class FakeCaches:
    """Makes nothing cold or warm; `calls` has one text a request, such as `cold trial-1`."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def make_cold(self, directory: Path) -> str:
        """Log `cold NAME`; returns `made cold`."""
        self.calls.append(f"cold {directory.name}")
        return "made cold"

    def make_warm(self, directory: Path) -> str:
        """Log `warm NAME`; returns `made warm`."""
        self.calls.append(f"warm {directory.name}")
        return "made warm"
