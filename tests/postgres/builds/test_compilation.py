"""Which folders a source has to build: those with a Makefile, and the catalog's where it installs (from 17 on)."""

import os
from pathlib import Path
from typing import Any

import pytest

from pgassay.postgres.builds.compilation import INCLUDE, count_objects, folders_of


def tree(folder: Path, catalog: str) -> Path:
    for name, text in (("src/backend", "all:\n"), (f"{INCLUDE}/catalog", catalog), ("contrib/amcheck", "all:\n")):
        (folder / name).mkdir(parents=True)
        (folder / name / "Makefile").write_text(text)
    return folder


def test_the_catalog_is_installed_where_it_has_something_to_install(tmp_path: Path) -> None:
    """Without it PostgreSQL 17 and 18 have no postgres.bki, and initdb makes no cluster."""
    new = tree(tmp_path / "18", "all: bki-stamp\n\ninstall: all installdirs\n")
    old = tree(tmp_path / "15", "# 'make reformat-dat-files' is a convenience target\nreformat-dat-files:\n")
    assert folders_of(new) == ["src/backend", "contrib/amcheck", INCLUDE]
    assert folders_of(old) == ["src/backend", "contrib/amcheck"]


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
