"""What a host does for a build on its way, on fakes: looks, packs, puts together; what is wrong with it is named."""

import errno
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pgassay.fleet import build_host, carriage, pieces
from pgassay.fleet.build_host import done, requested
from pgassay.fleet.builds import levels_of, of_study
from pgassay.fleet.job import BuildOrder
from pgassay.fleet.messages import FleetError
from pgassay.fleet.pieces import Store
from pgassay.fleet.sharing_plan import Seen, Way, Wish, choose
from pgassay.postgres.builds.builder import Builder
from pgassay.postgres.builds.recipe import parse_spec
from pgassay.postgres.builds.request import BuildRequest
from tests.postgres.builds.fake_source import builds_made, make_builder, make_tree, needs_make

pytestmark = needs_make


@dataclass(frozen=True)
class Pair:
    """h1, which has the build that is asked for, and h2, which lacks it."""

    request: BuildRequest
    h1: Builder
    h2: Builder

    @property
    def item(self) -> str:
        return next(iter(requested([levels_of(self.request)])))

    def ask(self, host: str, action: str) -> Any:
        order = BuildOrder(action, host, (levels_of(self.request),), self.item, "h1")
        return done({"h1": self.h1, "h2": self.h2}[host], order)

    def look(self, host: str) -> Seen:
        (found,) = self.ask(host, "look")
        assert isinstance(found, Seen)
        return found

    def store(self, host: str) -> Store:
        return Store(Path(self.look(host).store))

    def carry(self) -> None:
        """All pieces, as the carriage brings them."""
        here, there = self.store("h1"), self.store("h2")
        listing = here.listing()
        there.keep(listing)
        for piece in there.lacks(listing):
            assert not carriage.write(str(there.folder), piece.sha256, here.read(piece.sha256))


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    request = BuildRequest(source=parse_spec(f"directory:{make_tree(tmp_path)}"), cflags="-O0 -g")
    found = Pair(request, make_builder(tmp_path / "h1"), make_builder(tmp_path / "h2"))
    found.h1.installation(request)
    return found


def test_a_build_goes_from_one_cache_to_another_and_is_not_made_again(pair: Pair, tmp_path: Path) -> None:
    has, lacks = pair.look("h1").holding, pair.look("h2").holding
    assert (has.there, lacks.there) == (True, False)
    assert has.packed_bytes > 0
    assert has.made_s is not None
    assert has.kin == lacks.kin
    assert choose(Wish.SENT, [has, lacks], {}).source == "h1"
    pair.ask("h1", "pack")
    pair.carry()
    pair.ask("h2", "unpack")
    assert pair.look("h2").holding.there
    assert pair.h2.installation(pair.request).bindir.is_relative_to(tmp_path / "h2")
    assert builds_made(tmp_path) == 1
    (manifest,) = pair.h2.cache.whole()
    assert manifest.origin == "h1"
    assert not pair.store("h2").folder.exists()


def test_a_host_of_another_architecture_or_compiler_builds_its_own_and_is_named(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    has = pair.look("h1").holding
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(build_host, "_kin", lambda recipe: {"compiler": "gcc 14"})
    found = choose(Wish.AUTO, [has, pair.look("h2").holding], {})
    assert found.way is Way.MADE
    assert f"h2 makes its own: differs from h1 in architecture ({has.kin['architecture']}, aarch64)" in found.why
    assert f"compiler ({has.kin['compiler']}, gcc 14)" in found.why


def test_a_full_disk_is_named_and_leaves_nothing_in_the_way_of_an_own_build(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    pair.ask("h1", "pack")
    pair.carry()
    with monkeypatch.context() as patched:
        patched.setattr(pieces, "unpack", full)
        with pytest.raises(FleetError, match="what came cannot be kept: no space left on device"):
            pair.ask("h2", "unpack")
    assert not pair.store("h2").folder.exists()
    assert pair.h2.cache.all_keys() == ()
    monkeypatch.setattr(Store, "_write", full)
    piece = pair.store("h1").listing().pieces[0]
    said = carriage.write(str(pair.store("h2").folder), piece.sha256, pair.store("h1").read(piece.sha256))
    assert said == "what came cannot be kept: no space left on device"


def test_pieces_that_are_damaged_or_of_something_else_make_no_build(pair: Pair) -> None:
    pair.ask("h1", "pack")
    pair.carry()
    store = pair.store("h2")
    piece = store.listing().pieces[0]
    (store.folder / piece.sha256).write_bytes(b"?" * piece.bytes)
    with pytest.raises(FleetError, match="is damaged"):
        pair.ask("h2", "unpack")
    pieces.pack(pair.h1.cache.sources, "../../etc", store)
    with pytest.raises(FleetError, match="list of what was sent is damaged"):
        pair.ask("h2", "unpack")
    assert pair.h2.cache.all_keys() == ()


def test_the_builds_of_a_study_are_its_levels_each_once() -> None:
    document = """
    [study]
    format = 1
    title = "pages"
    question = "which?"
    [factors]
    "build.block_size" = ["4kB", "8kB"]
    "server.work_mem" = ["4MB", "8MB"]
    [load]
    driver = "pgbench"
    scale = 1
    clients = 1
    duration = "2s"
    [responses]
    primary = "tps"
    [design]
    baseline = { "build.block_size" = "8kB", "server.work_mem" = "4MB" }
    resolution = "2%"
    """
    found = of_study("pages", document)
    assert [each["block_size"] for each in found] == ["4096B", "8192B"]
    assert [each.block_bytes for each in requested(found).values()] == [4096, 8192]
