"""Fetching sources: PostgreSQL's own tarballs by a fake web, the distribution's by a fake apt."""

import hashlib
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import pytest

from pgassay.errors import UsageError
from pgassay.postgres.builds import sources
from pgassay.postgres.builds.recipe import BuildError
from tests.fakes.runner import FakeRunner

ONE_LINE = (
    "deb http://mirror.example.org/debian bookworm main\n# deb http://x.example/ y z\ndeb https://other.example/ a\n"
)
STANZAS = (
    "Types: deb\nURIs: http://mirror.example.org/debian\nSuites: bookworm\n\nTypes: deb\nURIs: https://other.example\n"
)
PATH = "https://ftp.postgresql.org/pub/source/v17.5/postgresql-17.5.tar.bz2"


def _web(pages: dict[str, bytes]) -> Callable[[str], IO[bytes]]:
    def opener(url: str) -> IO[bytes]:
        if url not in pages:
            raise OSError("404 not found")
        return io.BytesIO(pages[url])

    return opener


def test_a_tarball_with_its_checksum_is_taken(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"source").hexdigest()
    web = _web({PATH: b"source", f"{PATH}.sha256": f"{digest}  postgresql-17.5.tar.bz2\n".encode()})
    assert sources.fetch_official("17.5", tmp_path, web).read_bytes() == b"source"


def test_a_wrong_checksum_and_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"postgresql-17\.5\.tar\.bz2 has the SHA-256"):
        sources.fetch_official("17.5", tmp_path, _web({PATH: b"source", f"{PATH}.sha256": b"0" * 64}))
    with pytest.raises(BuildError, match="it is not a sha-256 checksum"):
        sources.fetch_official("17.5", tmp_path, _web({PATH: b"source", f"{PATH}.sha256": b"<html>"}))
    with pytest.raises(BuildError, match=r"could not fetch .*404 not found") as caught:
        sources.fetch_official("17.5", tmp_path, _web({}))
    assert caught.value.hint is not None
    assert "tarball:FILE" in caught.value.hint


def test_a_major_version_means_its_latest_minor() -> None:
    rows = json.dumps([{"major": "17", "latestMinor": "7"}, {"major": "16", "latestMinor": "11"}]).encode()
    web = _web({sources.VERSIONS: rows})
    assert sources.exact_version("16", web) == "16.11"
    assert sources.exact_version("16.2", _web({})) == "16.2"
    with pytest.raises(BuildError, match="the latest version of PostgreSQL 18"):
        sources.exact_version("18", web)


def test_source_entries_are_the_machines_own_for_distributions_only() -> None:
    found = sources.private_entries({"sources.list": ONE_LINE, "debian.sources": STANZAS, "no.list": "# none\n"})
    assert found["sources.list"] == "deb-src http://mirror.example.org/debian bookworm main\n"
    assert found["debian.sources"] == "Types: deb-src\nURIs: http://mirror.example.org/debian\nSuites: bookworm\n"
    assert set(found) == {"sources.list", "debian.sources"}
    assert not sources.have_sources({"sources.list": ONE_LINE, "debian.sources": STANZAS})
    assert sources.have_sources({"a.list": "deb-src http://mirror.example.org/debian bookworm main\n"})
    assert sources.have_sources({"a.sources": "Types: deb deb-src\n"})


def _apt(folder: Path, there: str) -> FakeRunner:
    """Versions 17.6-1 and 17.5-1 are listed; only `there` can be fetched."""

    def apt_get(words: Sequence[str], given: str) -> tuple[int, str, str]:
        if words[-1] == "update":
            return 0, "", ""
        if words[-1] != f"postgresql-17={there}":
            return 100, "", "E: Failed to fetch FILE 404  Not Found\nE: Failed to fetch some archives.\n"
        name = f"postgresql-17_{there.partition('-')[0]}.orig.tar.bz2"
        (folder / name).write_bytes(b"source")
        digest = hashlib.sha256(b"source").hexdigest()
        (folder / f"postgresql-17_{there}.dsc").write_text(f"Checksums-Sha256:\n {digest} 6 {name}\nFiles:\n")
        return 0, "", ""

    def apt_cache(words: Sequence[str], given: str) -> tuple[int, str, str]:
        return 0, "Version: 17.5-1\nDirectory: a\nVersion: 17.6-1\n", ""

    return FakeRunner({"apt-get": apt_get, "apt-cache": apt_cache})


@pytest.mark.parametrize("there", ["17.6-1", "17.5-1"])
def test_the_newest_that_is_really_there_is_fetched_by_a_private_apt(tmp_path: Path, there: str) -> None:
    runner = _apt(tmp_path, there)
    found = sources.fetch_distribution(runner, "17", tmp_path, allowed=True, entries={"sources.list": ONE_LINE})
    assert found.name == f"postgresql-17_{there.partition('-')[0]}.orig.tar.bz2"
    for call in runner.calls:
        assert f"Dir::State::Lists={tmp_path}/apt/lists" in call
        assert "Dir::Etc::SourceList=/dev/null" in call


def test_what_apt_says_of_the_file_is_said_and_not_its_sum(tmp_path: Path) -> None:
    runner = _apt(tmp_path, "none of them")
    with pytest.raises(
        BuildError, match="could not fetch the source package postgresql-17: Failed to fetch FILE 404"
    ) as caught:
        sources.fetch_distribution(runner, "17", tmp_path, allowed=True, entries={"sources.list": ONE_LINE})
    assert caught.value.hint is not None
    assert "build.source = tarball:FILE" in caught.value.hint
    assert caught.value.hint.endswith("or take another version")


def test_source_entries_are_added_only_with_consent(tmp_path: Path) -> None:
    runner = _apt(tmp_path, "17.6-1")
    with pytest.raises(UsageError, match="apt has no source entries") as caught:
        sources.fetch_distribution(runner, "17", tmp_path, allowed=False, entries={"sources.list": ONE_LINE})
    assert runner.calls == []
    assert caught.value.hint is not None
    assert "--allow-deb-src" in caught.value.hint


def test_a_version_that_no_package_has_and_a_machine_without_apt(tmp_path: Path) -> None:
    entries = {"sources.list": ONE_LINE}
    with pytest.raises(BuildError, match=r"postgresql-17 17\.4"):
        sources.fetch_distribution(_apt(tmp_path, "17.6-1"), "17.4", tmp_path, allowed=True, entries=entries)
    with pytest.raises(BuildError, match="this machine has no apt-get"):
        sources.fetch_distribution(FakeRunner(), "17", tmp_path, allowed=True, entries=entries)


def test_newer_suites_are_those_of_debians_own_archive() -> None:
    stanza = "Types: deb\nURIs: http://deb.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\n"
    security = stanza.replace("/debian", "/debian-security").replace("Suites: bookworm ", "Suites: bookworm-security ")
    files = {
        "debian.sources": f"{stanza}\n{security}",
        "pgdg.list": "deb [signed-by=/k.gpg] http://apt.example/pub/repos/apt bookworm-pgdg main # postgresql\n",
        "sources.list": "deb [arch=amd64] http://deb.example/debian bookworm main contrib\n",
    }
    found = sources.newer_entries(files)
    assert set(found) == {"debian.sources", "sources.list"}
    assert "Types: deb-src\nURIs: http://deb.example/debian\nSuites: trixie forky sid\n" in found["debian.sources"]
    assert "security" not in found["debian.sources"]
    assert found["sources.list"].splitlines()[0] == "deb-src [arch=amd64] http://deb.example/debian trixie main contrib"
    assert len(found["sources.list"].splitlines()) == len(sources.NEWER_SUITES)


def test_a_version_beyond_the_machines_own_suites_needs_consent_for_newer_ones(tmp_path: Path) -> None:
    entries = {"sources.list": f"{ONE_LINE}deb-src http://mirror.example.org/debian bookworm main\n"}
    runner = _apt(tmp_path, "17.6-1")
    with pytest.raises(BuildError, match=r"postgresql-17 17\.4") as caught:
        sources.fetch_distribution(runner, "17.4", tmp_path, allowed=False, entries=entries)
    assert "newer suites with --allow-deb-src" in str(caught.value.hint)
    assert not (tmp_path / "apt-newer").exists()
    with pytest.raises(BuildError, match=r"postgresql-17 17\.4") as caught:
        sources.fetch_distribution(runner, "17.4", tmp_path, allowed=True, entries=entries)
    assert (tmp_path / "apt-newer").exists()
    assert "--allow-deb-src" not in str(caught.value.hint)
