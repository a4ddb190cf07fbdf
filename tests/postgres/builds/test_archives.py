"""Tar files of sources, with a Python that has a filter for them and with Debian 12's, which has none."""

import io
import stat
import tarfile
from pathlib import Path

import pytest

from pgassay.postgres.builds.sources import NoArchiveError, extract


def packed(tmp_path: Path, *members: tuple[str, bytes, str]) -> Path:
    """An archive of these names, types and targets of links; a file has four bytes, and everybody may write it."""
    path = tmp_path / "source.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind, target in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.mode, member.uid = kind, target, 0o6777, 4242
            member.size = 4 if kind == tarfile.REGTYPE else 0
            archive.addfile(member, io.BytesIO(b"text") if member.size else None)
    return path


@pytest.fixture(params=["with its filter", "without"])
def python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Python as it is, and as it was before 3.11.4: `extractall` took no `filter`."""
    if request.param == "without":
        plain = tarfile.TarFile.extractall
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
        monkeypatch.setattr(tarfile.TarFile, "extractall", lambda self, path, members=None: plain(self, path, members))
    return str(request.param)


@pytest.mark.usefixtures("python")
def test_sources_are_unpacked_as_ours_and_nobody_else_may_write_them(tmp_path: Path) -> None:
    tarball = packed(tmp_path, ("tree", tarfile.DIRTYPE, ""), ("tree/configure", tarfile.REGTYPE, ""))
    extract(tarball, tmp_path / "into")
    file = tmp_path / "into" / "tree" / "configure"
    assert file.read_bytes() == b"text"
    assert stat.S_IMODE(file.stat().st_mode) == 0o755
    assert file.stat().st_uid == (tmp_path / "into").stat().st_uid


@pytest.mark.usefixtures("python")
@pytest.mark.parametrize(
    "members",
    [
        [("../out", tarfile.REGTYPE, "")],
        [("tree/../../out", tarfile.REGTYPE, "")],
        [("link", tarfile.SYMTYPE, ".."), ("link/out", tarfile.REGTYPE, "")],
        [("link", tarfile.SYMTYPE, "/etc/passwd")],
        [("link", tarfile.LNKTYPE, "../out")],
        [("pipe", tarfile.FIFOTYPE, "")],
    ],
)
def test_what_leads_outside_is_refused(tmp_path: Path, members: list[tuple[str, bytes, str]]) -> None:
    with pytest.raises(NoArchiveError):
        extract(packed(tmp_path, *members), tmp_path / "into")
    assert not (tmp_path / "out").exists()


def test_without_a_filter_a_link_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(tarfile, "data_filter", raising=False)
    with pytest.raises(NoArchiveError, match='"link" is not a file or folder in it, and this Python is older'):
        extract(packed(tmp_path, ("link", tarfile.SYMTYPE, "tree")), tmp_path / "into")
