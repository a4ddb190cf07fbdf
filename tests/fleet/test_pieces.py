"""A directory in pieces: what is put together is what was packed, and nothing damaged or led astray is taken."""

import hashlib
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgassay.fleet import pieces
from pgassay.fleet.messages import FleetError
from pgassay.fleet.pieces import ListedFile, ListedFolder, ListedLink, Listing, Store, pack, sample, unpack
from tests.noise import noise


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces so small that a few kilobytes are many."""
    monkeypatch.setattr(pieces, "PIECE_BYTES", 1000)


def tree(folder: Path, contents: dict[str, bytes]) -> Path:
    for name, data in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def everything(folder: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        value: object = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = (mode, value)
    return found


def test_what_is_put_together_is_what_was_packed(tmp_path: Path) -> None:
    origin = tree(
        tmp_path / "origin",
        {"PG_VERSION": b"15\n", "base/1/1259": noise(4321), "base/1/empty": b"", "base/1/zeros": bytes(5000)},
    )
    (origin / "base/1/1259").chmod(0o640)
    (origin / "base").chmod(0o750)
    (origin / "pg_tblspc").mkdir(mode=0o700)
    (origin / "current").symlink_to("base/1")
    (origin / "postmaster.pid").write_text("1\n")
    store = Store(tmp_path / "store")
    listing = pack(origin, "mine", store)
    assert listing == store.listing()
    assert len(listing.pieces) == 10
    assert listing.bytes == 4321 + 5000 + 3
    assert listing.packed_bytes < 6000, "zeros take no room"
    into = tmp_path / "into"
    into.mkdir()
    unpack(listing, store, into)
    (origin / "postmaster.pid").unlink()
    assert everything(into) == everything(origin)


@given(sizes=st.lists(st.integers(0, 3500), max_size=8))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_files_of_any_size(tmp_path_factory: pytest.TempPathFactory, sizes: list[int]) -> None:
    place = tmp_path_factory.mktemp("sizes")
    origin = tree(place / "origin", {f"{number}": noise(size, number) for number, size in enumerate(sizes)})
    listing = pack(origin, "mine", Store(place / "store"))
    assert all(each.bytes < 1100 for each in listing.pieces)
    (place / "into").mkdir()
    unpack(listing, Store(place / "store"), place / "into")
    assert everything(place / "into") == everything(origin)
    assert sample(origin).bytes == sum(sizes)


def test_the_same_directory_gives_the_same_pieces_and_what_is_there_stays(tmp_path: Path) -> None:
    origin = tree(tmp_path / "origin", {"one": noise(2500), "two": noise(700, 1)})
    first, second = Store(tmp_path / "first"), Store(tmp_path / "second")
    listing = pack(origin, "mine", first)
    assert pack(origin, "mine", second) == listing
    assert first.lacks(listing) == []
    lost = listing.pieces[1]
    (first.folder / lost.sha256).unlink()
    assert first.lacks(listing) == [lost]
    before = {path.name: path.stat().st_ino for path in first.folder.iterdir()}
    assert pack(origin, "mine", first) == listing
    assert {path.name: path.stat().st_ino for path in first.folder.iterdir()}.items() >= {
        name: inode for name, inode in before.items() if name != "listing.json"
    }.items()
    (first.folder / lost.sha256).write_bytes(b"x" * lost.bytes)
    pack(origin, "mine", first, anew=True)
    assert first.read(lost.sha256) == second.read(lost.sha256)
    first.forget()
    first.forget()
    assert not first.folder.exists()


def test_a_damaged_piece_is_refused_when_it_comes_and_when_it_is_used(tmp_path: Path) -> None:
    origin = tree(tmp_path / "origin", {"one": noise(2500)})
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    listing = pack(origin, "mine", here)
    piece = listing.pieces[2]
    packed = here.read(piece.sha256)
    changed = packed[:-1] + bytes([packed[-1] ^ 1])
    with pytest.raises(FleetError, match="damaged"):
        there.put(piece.sha256, changed)
    with pytest.raises(FleetError, match="damaged"):
        there.put("../../etc/passwd", packed)
    with pytest.raises(FleetError, match="damaged"):
        there.read("../here/listing.json")
    assert there.lacks(listing) == list(listing.pieces)
    (here.folder / piece.sha256).write_bytes(changed)
    into = tmp_path / "into"
    into.mkdir()
    with pytest.raises(FleetError, match="damaged"):
        unpack(listing, here, into)


def test_the_same_piece_may_be_written_twice_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As two threads do that pack two pieces of zeros."""
    store, packed, rename = Store(tmp_path), b"as packed", Path.rename
    sha256 = hashlib.sha256(packed).hexdigest()

    def after_another(fresh: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "rename", rename)
        store.put(sha256, packed)
        return fresh.rename(target)

    monkeypatch.setattr(Path, "rename", after_another)
    store.put(sha256, packed)
    assert [path.name for path in tmp_path.iterdir()] == [sha256]
    assert store.read(sha256) == packed


def test_pieces_that_do_not_make_up_the_files_are_refused(tmp_path: Path) -> None:
    origin = tree(tmp_path / "origin", {"one": noise(2500)})
    store = Store(tmp_path / "store")
    listing = pack(origin, "mine", store)
    for number, (pieces_of, said) in enumerate(((listing.pieces[:-1], "end before"), (listing.pieces * 2, "go on"))):
        into = tmp_path / f"into{number}"
        into.mkdir()
        with pytest.raises(FleetError, match=said):
            unpack(msgspec.structs.replace(listing, pieces=pieces_of), store, into)


@pytest.mark.parametrize(
    "listing",
    [
        Listing("mine", (), (), (ListedFile("../out", 0o600, 0),), ()),
        Listing("mine", (), (), (ListedFile("/etc/passwd", 0o600, 0),), ()),
        Listing("mine", (ListedFolder("a", 0o700),), (), (ListedFile("a", 0o600, 0),), ()),
        Listing("mine", (), (ListedLink("a", "/etc"),), (), ()),
        Listing("mine", (), (ListedLink("a", "b"),), (ListedFile("a/passwd", 0o600, 0),), ()),
        Listing("mine", (), (), (), (), format=2),
    ],
)
def test_a_list_that_leads_out_is_refused(tmp_path: Path, listing: Listing) -> None:
    with pytest.raises(FleetError, match="list of what was sent is damaged"):
        unpack(listing, Store(tmp_path / "store"), tmp_path)
    Store(tmp_path / "store").keep(listing)
    with pytest.raises(FleetError, match="list of what was sent is damaged"):
        Store(tmp_path / "store").listing()


def test_a_link_that_leads_out_is_not_packed(tmp_path: Path) -> None:
    origin = tree(tmp_path / "origin", {"one": b"1"})
    (origin / "pg_wal").symlink_to("/srv/wal")
    with pytest.raises(FleetError, match="leads out"):
        pack(origin, "mine", Store(tmp_path / "store"))


def test_modes_are_permissions_and_nothing_more(tmp_path: Path) -> None:
    listing = Listing("mine", (), (), (ListedFile("suid", 0o4755, 0),), ())
    into = tmp_path / "into"
    into.mkdir()
    unpack(listing, Store(tmp_path / "store"), into)
    assert (into / "suid").stat().st_mode & 0o7777 == 0o755
