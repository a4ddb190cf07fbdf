"""What an emulated drive's host can read, apart from what filled the drive when it was aged."""

from typing import Any

from pgassay.drive.block.emulated import neutral
from pgassay.interfaces.drive_counters import DATA
from pgassay.probe.registry import Probes

STATS: dict[str, Any] = {
    "live_blocks": 1000, "live_bytes": 1000 * 4096, "stored_blocks": 90, "stored_bytes": 90 * 1000, "zero_blocks": 10,
}  # fmt: skip


def test_a_compressing_drive_holds_what_the_codec_left_and_nothing_for_zeros() -> None:
    found = neutral(STATS, compressing=True)
    assert found["contents_logical_bytes"] == 100 * 4096
    assert found["contents_physical_bytes"] == 90 * 1000
    assert found["physical_bytes"] == 1000 * 4096, "all that lives on the flash, the filling too"


def test_a_page_mapped_drive_takes_whole_pages_for_zeros_too() -> None:
    assert neutral(STATS, compressing=False)["contents_physical_bytes"] == 100 * 4096


def test_a_daemon_that_does_not_tell_has_no_contents() -> None:
    assert "contents_physical_bytes" not in neutral({"live_bytes": 4096}, compressing=True)


def test_space_and_compression_leave_the_filling_out_where_it_is_known() -> None:
    told = {f"{DATA}.{name}": value for name, value in neutral(STATS, compressing=True).items()}
    found = Probes().costs(told, 1)
    assert found["physical_bytes"] == 90_000
    assert found["compression_ratio"] == 100 * 4096 / 90_000
    bare = {name: value for name, value in told.items() if "contents" not in name}
    assert Probes().costs({**bare, f"{DATA}.contents_physical_bytes": None}, 1)["physical_bytes"] == 1000 * 4096
