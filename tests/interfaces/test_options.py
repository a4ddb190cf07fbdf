"""One description of an option gives its typed value, its factor and its row in the documentation."""

from dataclasses import dataclass, replace

import pytest

from pgassay.errors import UsageError
from pgassay.interfaces.factor import SetupDraft, Stage
from pgassay.interfaces.kinds import SWITCH, Kind, choice, optional, seconds, size, whole
from pgassay.interfaces.options import Options, factors_of, group, option


@dataclass(frozen=True, kw_only=True)
class Disk(Options):
    """A group, repeated under two names."""

    kind: str = option(choice("directory", "image"), name="", default="directory", summary="where it is")
    capacity_bytes: int | None = option(
        optional(size()), name="capacity", default=None, unit="bytes", summary="how large it is", stage=Stage.INIT
    )


@dataclass(frozen=True, kw_only=True)
class Disks(Options):
    """All that is asked of a room."""

    namespace = "drive"

    data: Disk = group(Disk, default=Disk())
    wal: Disk | None = group(Disk, default=None)
    warmup_s: int = option(seconds(0), name="warmup", default=0, unit="s", summary="a length | of time")
    check: bool = option(SWITCH, default=False, summary="look afterwards")
    count: int = option(whole(1, 9), default=2, summary="how many", scales=True)

    def __post_init__(self) -> None:
        if self.count == 7:
            raise UsageError("seven is too many")


def test_without_levels_the_defaults_hold() -> None:
    assert Disks.from_levels({}) == Disks()
    assert Disks().wal is None


def test_levels_become_typed_values() -> None:
    disks = Disks.from_levels({"data": "image", "data.capacity": "1GB", "warmup": "2min", "check": "yes"})
    assert disks == Disks(data=Disk(kind="image", capacity_bytes=1 << 30), warmup_s=120, check=True)
    assert Disks.from_levels({"wal.capacity": "2kB"}).wal == Disk(capacity_bytes=2048)


def test_what_a_value_shows_makes_it_again() -> None:
    disks = replace(Disks(), wal=Disk(capacity_bytes=8192), count=3)
    assert disks.to_levels() == {
        "warmup": "0s", "check": "off", "count": "3", "data": "directory", "wal": "directory", "wal.capacity": "8kB",
    }  # fmt: skip
    assert Disks.from_levels(disks.to_levels()) == disks


@pytest.mark.parametrize(
    ("levels", "says"),
    [
        ({"count": "many"}, '"drive.count" must be a whole number from 1 to 9'),
        ({"count": "10"}, "from 1 to 9"),
        ({"wal.capacity": "large"}, '"drive.wal.capacity"'),
        ({"data": "tape"}, '"drive.data" cannot be "tape"'),
        ({"data.colour": "red"}, '"drive.data.colour" is not an option here'),
        ({"count": "7"}, "seven is too many"),
    ],
)
def test_nonsense_is_refused_with_the_full_name(levels: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Disks.from_levels(levels)


def test_every_option_is_a_factor_under_its_full_name() -> None:
    factors = {each.pattern: each for each in factors_of(Disks)}
    assert list(factors) == [
        "drive.warmup", "drive.check", "drive.count", "drive.data", "drive.data.capacity", "drive.wal",
        "drive.wal.capacity",
    ]  # fmt: skip
    capacity = factors["drive.wal.capacity"]
    assert (capacity.stage, capacity.unit, capacity.default) == (Stage.INIT, "bytes", "none")
    assert factors["drive.count"].scales
    assert factors["drive.count"].default == "2"


def test_a_factor_hands_its_canonical_level_to_its_room() -> None:
    setup = SetupDraft()
    for factor, typed in zip(factors_of(Disks), ("1min", "yes", "03", "image", "1024MB", "image", "none"), strict=True):
        level = factor.parse(factor.pattern, typed)
        assert level.typed == typed
        factor.prepare(factor.pattern, level, setup)
    assert setup.drive == {
        "warmup": "60s", "check": "on", "count": "3", "data": "image", "data.capacity": "1GB", "wal": "image",
    }  # fmt: skip
    assert Disks.from_levels(setup.drive).data.capacity_bytes == 1 << 30


@pytest.mark.parametrize("kind", [whole(), seconds(), size(), choice("a", "b"), optional(whole())])
def test_no_kind_takes_an_empty_text(kind: Kind[object]) -> None:
    with pytest.raises(UsageError, match="no value"):
        kind.canonical("load.x", "  ")
