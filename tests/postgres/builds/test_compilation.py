"""Which folders a source has to build: those with a Makefile, and the catalog's where it installs (from 17 on)."""

import os
from pathlib import Path
from typing import Any

import pytest

from pgassay.postgres.builds.builder import count_objects, goals_of


def test_what_extensions_are_built_with_is_installed_after_the_programs(tmp_path: Path) -> None:
    """Headers come with postgres.bki, too: without it PostgreSQL 17 and 18 make no cluster."""
    for name in ("src", "src/backend", "src/include", "contrib/amcheck"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "Makefile").touch()
    programs = [("src/backend", "install"), ("contrib/amcheck", "install")]
    assert goals_of(tmp_path) == [*programs, ("src", "install-local"), ("src/include", "install")]


def test_a_folder_that_configure_removes_while_objects_are_counted_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a/one.o", "b/two.o", "b/two.c", "conf14748.dir/three.o"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    listed = os.scandir

    def removing(path: Any) -> Any:
        if Path(path).name.startswith("conf"):
            (Path(path) / "three.o").unlink()
            Path(path).rmdir()
        return listed(path)

    monkeypatch.setattr(os, "scandir", removing)
    assert count_objects(tmp_path) == 2
