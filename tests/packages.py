"""Packages with plug-ins that exist for one test: what pip would have installed, in a temporary folder."""

import sys
from pathlib import Path
from typing import Protocol

import pytest


class Install(Protocol):
    """Puts version 1.2 of a package on Python's path: its entry points, and one module with this code."""

    def __call__(self, name: str, points: str, code: str = "", module: str = "") -> None: ...


def installer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """An `Install` whose packages live in `folder` and vanish with the test."""

    def install(name: str, points: str, code: str = "", module: str = "") -> None:
        metadata = folder / name / f"{name.replace('-', '_')}-1.2.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (metadata / "entry_points.txt").write_text(points)
        if module:
            (folder / name / f"{module}.py").write_text(code)
        monkeypatch.syspath_prepend(folder / name)
        monkeypatch.delitem(sys.modules, module, raising=False)

    return install
