"""One answer to what a drive is, whatever form its level has."""

import pytest

from pgassay.study.drives import DriveKind, Role, declared, dilation, emulated, kind_of, role_of, timed
from pgassay.study.levels import Level


@pytest.mark.parametrize(
    ("level", "kind"),
    [
        ("directory", DriveKind.DIRECTORY),
        ("directory:/srv/pg", DriveKind.DIRECTORY),
        ("directory:/srv/drives.toml", DriveKind.DIRECTORY),
        ("image", DriveKind.IMAGE),
        ("device:/dev/nvme1n1", DriveKind.DEVICE),
        ("ssd", DriveKind.SSD),
        ("csd", DriveKind.CSD),
        ("description:/etc/drives/mine.toml#0123abcd", DriveKind.DESCRIPTION),
        ("mine.toml", DriveKind.DESCRIPTION),
        ("/etc/drives/a:b.toml", DriveKind.DESCRIPTION),
        ("ssd:/mnt", None),
        ("/mnt", None),
        ("", None),
    ],
)
def test_every_form_of_a_level_is_known(level: str, kind: DriveKind | None) -> None:
    assert kind_of(level) is kind


def levels(**each: str) -> dict[str, Level]:
    return {f"drive.{name}": Level(value, value) for name, value in each.items()}


def test_one_emulated_drive_of_two_is_enough() -> None:
    assert emulated(levels(data="image", wal="mine.toml"))
    assert emulated(levels(data="description:/x.toml#1"))
    assert not emulated(levels(data="directory:/srv/my.toml", wal="image"))
    assert not emulated({})


def test_only_emulated_drives_have_modelled_service_times() -> None:
    assert timed(levels(data="csd", timing="on"))
    assert not timed(levels(data="csd", timing="off"))
    assert not timed(levels(data="csd"))
    assert not timed(levels(data="image", timing="on"))
    assert dilation(levels(data="csd", timing="on", dilation="4")) == 4
    assert dilation(levels(data="csd", timing="on")) == dilation(levels(data="image", dilation="4")) == 1


def test_what_a_kind_says() -> None:
    assert [kind for kind in DriveKind if kind.emulated] == [DriveKind.SSD, DriveKind.CSD, DriveKind.DESCRIPTION]
    assert [kind for kind in DriveKind if kind.compresses] == [DriveKind.CSD]
    assert [kind for kind in DriveKind if kind.holds_one_cluster] == [
        *(DriveKind.IMAGE, DriveKind.SSD, DriveKind.CSD, DriveKind.DESCRIPTION, DriveKind.PLUGIN)
    ]


@pytest.mark.parametrize(
    ("level", "role"),
    [
        ("ssd", Role.NORMAL),
        ("csd", Role.COMPRESSING),
        ("image", Role.NORMAL),
        ("normal=device:/dev/nvme0n1", Role.NORMAL),
        ("compressing=directory:/mnt/a=b", Role.COMPRESSING),
        ("device:/dev/nvme0n1", None),
        ("directory", None),
        ("mine.toml", None),
        ("beside", None),
        ("plugin:thick", None),
        ("compressing=plugin:thick", Role.COMPRESSING),
        ("fast=device:/dev/nvme0n1", None),
    ],
)
def test_what_a_drive_is_to_a_study_is_declared_or_known_by_its_kind(level: str, role: Role | None) -> None:
    assert role_of(level) is role


def test_a_declared_drive_is_of_its_own_kind() -> None:
    assert declared("normal=device:/dev/x") == (Role.NORMAL, "device:/dev/x")
    assert kind_of("normal=device:/dev/x") is DriveKind.DEVICE
    assert not emulated(levels(data="compressing=directory:/mnt/csd", wal="beside"))
