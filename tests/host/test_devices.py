"""Block devices as /sys shows them: disks, partitions, what lies beneath."""

from pathlib import Path

from pgassay.bench.places import Mount
from pgassay.host.devices import chosen, device_of, read_device


def _sys(tmp_path: Path) -> Path:
    """A /sys with a disk sda (8:0), its partition sda1 (8:1), and dm-0 (253:0) on top of it."""
    disk = tmp_path / "devices" / "sda"
    for folder, texts in {
        disk / "queue": {
            "rotational": "0", "scheduler": "none [mq-deadline] bfq", "write_cache": "write back",
            "logical_block_size": "512", "physical_block_size": "4096",
        },
        disk / "device": {"model": "FAST SSD  "},
        disk / "sda1": {"partition": "1"},
        tmp_path / "devices" / "dm-0" / "queue": {"scheduler": "none"},
        tmp_path / "devices" / "dm-0" / "slaves" / "sda1": {},
    }.items():  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text + "\n")
    links = tmp_path / "dev" / "block"
    links.mkdir(parents=True)
    for number, target in {"8:0": disk, "8:1": disk / "sda1", "253:0": tmp_path / "devices" / "dm-0"}.items():
        (links / number).symlink_to(target)
    return tmp_path


def test_a_partition_has_its_disks_queue(tmp_path: Path) -> None:
    device = read_device("8:1", _sys(tmp_path))
    assert device is not None
    assert (device.name, device.disk, device.model) == ("sda1", "sda", "FAST SSD")
    assert (device.rotational, device.scheduler, device.write_cache) == (False, "mq-deadline", "write back")
    assert (device.logical_block_bytes, device.physical_block_bytes) == (512, 4096)


def test_what_lies_beneath_and_what_is_not_told(tmp_path: Path) -> None:
    device = read_device("253:0", _sys(tmp_path))
    assert device is not None
    assert device.beneath == ("sda1",)
    assert (device.model, device.rotational, device.write_cache, device.logical_block_bytes) == (None, None, None, None)


def test_no_device(tmp_path: Path) -> None:
    assert read_device("9:9", _sys(tmp_path)) is None
    memory = Mount(tmp_path, tmp_path, "tmpfs", "tmpfs", "rw", 1, 1, False)
    assert device_of(memory, tmp_path / "empty") is None


def test_the_word_in_brackets() -> None:
    assert [chosen(each) for each in ("always [madvise] never", "none", None)] == ["madvise", "none", None]
