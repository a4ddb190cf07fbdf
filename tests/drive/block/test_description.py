"""Description files: levels by their contents, with service times of their own; bad ones are named before all runs."""

from pathlib import Path

import pytest

from pgassay.drive.block import description
from pgassay.drive.options import FACTORS, DriveOptions
from pgassay.errors import UsageError


def test_a_description_is_a_level_by_its_contents(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[drive]\nkind = "compressing"\nuser_bytes = "2GB"\nover_provisioning = "28%"\n')
    first = FACTORS["drive.data"].parse("drive.data", str(file))
    asked = DriveOptions.from_levels({"data": first.canonical, "data.codec": "lz4"}).data
    assert asked.described is not None
    assert (asked.label, asked.capacity_bytes, asked.described.core.codec) == ("mine", 2 << 30, "lz4")
    told = asked.described.core.configuration("d", tmp_path)
    assert (told["over_provisioning"], told["kind"], "timing" in told) == (0.28, "compressing", False)
    file.write_text('[drive]\nkind = "page-mapped"\n')
    assert FACTORS["drive.data"].parse("drive.data", str(file)).canonical != first.canonical


def test_a_drive_may_promise_more_than_it_has_flash_for(tmp_path: Path) -> None:
    file = tmp_path / "thin.toml"
    file.write_text('[drive]\nkind = "compressing"\nuser_bytes = "1GB"\nlogical_bytes = "4GB"\n')
    found = description.read(file)
    assert found.core.capacity_bytes == 4 << 30
    assert found.core.configuration("d", tmp_path)["user_bytes"] == 1 << 30


@pytest.mark.parametrize(
    "text",
    [
        "[drive",
        "[flash]\n",
        '[emulation]\ncodec = "rar"\n',
        "[emulation]\nspeed = 1\n",
        '[drive]\nuser_bytes = "2 XB"\n',
        '[timing]\nprofile = "floppy"\n',
        "[timing]\nread_ns = -1\n",
        'timing = "sata-ssd"\n',
        '[drive]\nkind = "compressing"\nlogical_bytes = "4GB"\n',
        "drive = 3\n",
        "emulation = []\n",
        "[emulation]\nthreads = 0\n",
        '[emulation]\nthreads = "two"\n',
        "[emulation]\nstore_bytes = 1.5\n",
        "[emulation]\nwatchdog_s = true\n",
        "[emulation]\ncodec = []\n",
        "[drive]\nuser_bytes = -4096\n",
        '[drive]\nuser_bytes = "7%"\n',
        "[drive]\nmade = 2020-01-01\n",
        "[drive]\nover_provisioning = nan\n",
        "[drive.flash]\nchannels = 8\n",
        "\udcff = 1\n",
    ],
)
def test_a_bad_description_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(UsageError, match=r"mine\.toml"):
        description.read(file)


def test_service_times_are_a_description_s_own_or_a_profile_s(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[timing]\nprofile = "sata-ssd"\nread_ns = 70000\nwrite_buffer_bytes = "8MB"\n')
    level = FACTORS["drive.data"].parse("drive.data", str(file)).canonical

    def asked(timing: str) -> object:
        options = DriveOptions.from_levels({"data": level, "data.capacity": "1GB", "timing": timing})
        described = options.described(options.data)
        assert described is not None
        return described.core.configuration("d", tmp_path).get("timing")

    mine = {"profile": "sata-ssd", "read_ns": 70000, "write_buffer_bytes": 8 << 20}
    assert asked("on") == mine
    assert asked("hdd-7200") == {"profile": "hdd-7200"}
    assert asked("off") is None
    assert DriveOptions.from_levels({"data": "ssd", "timing": "off"}) == DriveOptions.from_levels({"data": "ssd"})
