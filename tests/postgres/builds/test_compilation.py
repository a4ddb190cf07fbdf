"""Which folders a source has to build: those with a Makefile, and the catalog's where it installs (from 17 on)."""

from pathlib import Path

from pgassay.postgres.builds.compilation import INCLUDE, folders_of


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
