"""Commits as levels of a factor: builds by name, and a schema's files as they were in each commit."""

import subprocess
from pathlib import Path

import pytest

from pgassay.lab.commits import WRAPPER, Subject, SubjectKind, UnmeasuredError, level
from pgassay.postgres.builds.commits import Commit, commit_of
from pgassay.testing import real


def git(folder: Path, *words: str) -> None:
    command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    subprocess.run(command, check=True, capture_output=True)


def committed(folder: Path, files: dict[str, bytes]) -> Commit:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "a change")
    return commit_of(real.runner(), folder, "HEAD")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    made = tmp_path / "shop"
    made.mkdir()
    git(made, "init", "-q")
    return made


def test_a_build_is_named_by_its_commit(tmp_path: Path) -> None:
    commit = Commit("a" * 40, "one")
    for kind, factor in (
        (SubjectKind.POSTGRESQL, "build.source"),
        (SubjectKind.EXTENSION, "build.extension"),
    ):
        subject = Subject(kind, "/pg")
        assert level(subject, commit, tmp_path, real.runner()) == f"git:/pg@{'a' * 40}"
        assert subject.factor == factor


def test_a_schemas_files_are_those_of_the_commit_and_its_text_names_it(tmp_path: Path, shop: Path) -> None:
    first = committed(shop, {"db/it's schema.sql": b"\\ir more.sql\n", "db/more.sql": b"SELECT 1;\n", "big": b"x"})
    second = committed(shop, {"db/more.sql": b"SELECT 2;\n"})
    subject, trees = Subject(SubjectKind.SCHEMA, str(shop), "db/it's schema.sql"), tmp_path / "trees"
    found = [Path(level(subject, each, trees, real.runner())) for each in (first, second, first)]
    assert found[0] == found[2] == trees / first.sha / WRAPPER
    assert found[0].read_text() == f"-- {first.sha}\n\\ir 'db/it''s schema.sql'\n"
    assert found[0].read_bytes() != found[1].read_bytes(), "what is included may differ where the file does not"
    assert [(path.parent / "db" / "more.sql").read_text() for path in found[:2]] == ["SELECT 1;\n", "SELECT 2;\n"]
    assert not (trees / first.sha / "big").exists()
    assert sorted(each.name for each in trees.iterdir()) == sorted([first.sha, second.sha])


def test_a_dump_is_taken_as_it_is_and_a_commit_without_the_file_is_not_measured(tmp_path: Path, shop: Path) -> None:
    none = committed(shop, {"other": b""})
    some = committed(shop, {"app.dump": b"PGDMP\x01"})
    subject, trees = Subject(SubjectKind.SCHEMA, str(shop), "app.dump"), tmp_path / "trees"
    assert level(subject, some, trees, real.runner()) == str(trees / some.sha / "app.dump")
    with pytest.raises(UnmeasuredError, match=r"it has no app\.dump"):
        level(subject, none, trees, real.runner())
