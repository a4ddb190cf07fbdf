"""Secure erase: only of what was named, by commands that the installed nvme-cli takes, and waited for to its end."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pgassay.bench.errors import DriveError
from pgassay.drive.block import preparation
from pgassay.drive.block.preparation import Erasure, erase, require_erasable, require_trimmable
from pgassay.drive.smart import PROGRAM, json_options
from pgassay.errors import UsageError
from tests.fakes.runner import FakeRunner

DEVICE = Path("/dev/nvme7n1")
JSON_HELP = "[  --output-format=<FMT>, -o <FMT> ]  --- Output format: normal|json|binary"


@dataclass
class Drive:
    """An NVMe drive behind nvme-cli. It formats and sanitizes; `states` are what its sanitize log says, in turn."""

    namespaces: int = 1
    hidden: int = 0
    commands: int = 0b0010
    formats: int = 0b100
    sanitizes: int = 0b010
    states: Iterator[tuple[int, int]] = field(default_factory=lambda: iter([(2, 0), (2, 32768), (1, 65535)]))
    refuses: str = ""
    mute: bool = False
    done: list[tuple[str, ...]] = field(default_factory=list)

    def nvme(self, arguments: Sequence[str], given: str) -> tuple[int, str, str]:
        if arguments[-1] == "--help":
            return 1, "", JSON_HELP
        command, device, *options = arguments
        assert device == str(DEVICE)
        if command in ("format", "sanitize"):
            self.done.append((command, *options))
            return (1, "", f"NVMe status: {self.refuses}") if self.refuses else (0, "Success", "")
        if self.mute:
            return 1, "", "Permission denied"
        if command == "id-ctrl":
            said = {"oacs": self.commands, "fna": self.formats, "sanicap": self.sanitizes}
        elif command == "list-ns":
            count = self.namespaces + (self.hidden if "--all" in options else 0)
            return 0, json.dumps({"nsid_list": [{"nsid": number + 1} for number in range(count)]}), ""
        else:
            status, progress = next(self.states)
            said = {DEVICE.name: {"sprog": progress, "sstat": {"status": f"({status}) In words."}}}  # type: ignore[dict-item]
        return 0, json.dumps(said), ""

    @property
    def runner(self) -> FakeRunner:
        return FakeRunner({"nvme": self.nvme})


def erased(drive: Drive, how: Erasure) -> tuple[float, list[float]]:
    """Seconds waited, and the shares that were told."""
    waited, told = list[float](), list[float]()
    require_erasable(DEVICE, how, drive.runner)
    assert erase(DEVICE, how, drive.runner, waited.append, told.append) == ""
    return sum(waited), told


@pytest.mark.parametrize(
    ("how", "command"),
    [
        (Erasure.FORMAT, ("format", "--ses=1", "--force")),
        (Erasure.CRYPTO, ("format", "--ses=2", "--force")),
        (Erasure.SANITIZE, ("sanitize", "--sanact=2")),
    ],
)
def test_a_namespace_alone_on_its_drive_is_erased(how: Erasure, command: tuple[str, ...]) -> None:
    drive = Drive()
    erased(drive, how)
    assert drive.done == [command]


def test_a_sanitize_is_waited_for_to_its_end() -> None:
    waited_s, told = erased(Drive(), Erasure.SANITIZE)
    assert (waited_s, told) == (10.0, [0.0, 0.5])
    with pytest.raises(DriveError, match="its log says that it failed"):
        erased(Drive(states=iter([(2, 0), (3, 65535)])), Erasure.SANITIZE)


def test_a_sanitize_that_never_ends_is_not_waited_for_for_ever() -> None:
    with pytest.raises(DriveError, match="still goes on"):
        erased(Drive(states=iter([(2, 0)] * 10_000)), Erasure.SANITIZE)


def test_a_drive_busy_with_itself_may_leave_its_log_unread_for_a_while() -> None:
    drive = Drive()
    require_erasable(DEVICE, Erasure.SANITIZE, drive.runner)
    silent = FakeRunner({"nvme": lambda arguments, given: (0, JSON_HELP if arguments[-1] == "--help" else "", "")})
    waited: list[float] = []
    with pytest.raises(DriveError, match="does not say how far it is"):
        erase(DEVICE, Erasure.SANITIZE, silent, waited.append, lambda share: None)
    assert 10 < sum(waited) < 300


@pytest.mark.parametrize(
    ("drive", "how", "said"),
    [
        (Drive(namespaces=2), Erasure.SANITIZE, "would erase 1 more namespace of its drive"),
        (Drive(namespaces=3, formats=0b001), Erasure.FORMAT, "would erase 2 more namespaces"),
        (Drive(namespaces=2, formats=0b110), Erasure.CRYPTO, "would erase 1 more namespace"),
        (Drive(hidden=1, commands=0b1010, formats=0b001), Erasure.FORMAT, "would erase 1 more namespace"),
        (Drive(commands=0), Erasure.FORMAT, "its controller does not offer it"),
        (Drive(formats=0), Erasure.CRYPTO, "its controller does not offer it"),
        (Drive(sanitizes=0b100), Erasure.SANITIZE, "its controller does not offer it"),
        (Drive(mute=True), Erasure.FORMAT, "does not say what --erase format would reach"),
    ],
)
def test_what_would_reach_further_or_is_not_known_is_left_alone(drive: Drive, how: Erasure, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        require_erasable(DEVICE, how, drive.runner)
    assert drive.done == []


def test_a_controller_that_formats_one_namespace_alone_may() -> None:
    drive = Drive(namespaces=2, formats=0b100)
    erased(drive, Erasure.FORMAT)
    assert drive.done


@pytest.mark.parametrize("device", ["/dev/nvme7n1p3", "/dev/nvme7", "/dev/sda", "/dev/loop7"])
def test_only_a_whole_namespace_is_erased(device: str) -> None:
    with pytest.raises(UsageError, match="is no NVMe namespace"):
        require_erasable(Path(device), Erasure.FORMAT, FakeRunner())
    require_erasable(Path(device), Erasure.DISCARD, FakeRunner())


def test_an_erase_that_was_asked_for_and_fails_is_an_error_and_a_discard_is_not() -> None:
    drive = Drive(refuses="Format Progress(0x4184)")
    with pytest.raises(DriveError, match=r"could not erase .* by format: .*Format Progress"):
        erased(drive, Erasure.FORMAT)
    refusing = FakeRunner({"blkdiscard": lambda arguments, given: (1, "", "Operation not supported\n")})
    nothing = (lambda length_s: None, lambda share: None)
    assert erase(DEVICE, Erasure.DISCARD, refusing, *nothing) == "Operation not supported"
    assert erase(DEVICE, Erasure.NONE, refusing, *nothing) == "not asked for"


@pytest.mark.parametrize(("limit", "refused"), [("0", True), ("4294966784", False)])
def test_a_device_that_takes_no_discards_is_not_trimmed(tmp_path: Path, limit: str, refused: bool) -> None:
    for name in ("nvme7n1", "nvme7n1/nvme7n1p1"):
        (tmp_path / name).mkdir()
    (tmp_path / "nvme7n1p1").symlink_to(tmp_path / "nvme7n1" / "nvme7n1p1")
    (tmp_path / "nvme7n1" / "queue").mkdir()
    (tmp_path / "nvme7n1" / "queue" / "discard_max_bytes").write_text(limit + "\n")
    for name in ("nvme7n1", "nvme7n1p1"):
        if refused:
            with pytest.raises(UsageError, match="takes no discards"):
                require_trimmable(Path("/dev") / name, "--trim", tmp_path)
        else:
            require_trimmable(Path("/dev") / name, "--trim", tmp_path)


@pytest.mark.skipif(shutil.which(PROGRAM) is None, reason="nvme-cli is not installed")
@pytest.mark.parametrize(
    "command", [*preparation._ERASING.values(), ("id-ctrl",), ("list-ns", "--all"), ("sanitize-log",)]
)
def test_the_installed_program_takes_the_commands_that_erase(command: tuple[str, ...]) -> None:
    """On a device that is none: an option that it refuses is named before it is opened."""
    name, *options = command
    if name not in ("format", "sanitize"):
        helped = subprocess.run([PROGRAM, name, "--help"], capture_output=True, text=True, check=False)
        options += json_options(helped.stdout + helped.stderr) or ()
        assert len(options) >= 2, "it can be asked for JSON"
    done = subprocess.run([PROGRAM, name, "/dev/null", *options], capture_output=True, text=True, check=False)
    refused = subprocess.run([PROGRAM, name, "/dev/null", *options, "-Y"], capture_output=True, text=True, check=False)
    assert "unrecognized option" not in (done.stdout + done.stderr).lower()
    assert (
        "unrecognized option" in (refused.stdout + refused.stderr).lower()
        or "invalid option" in (refused.stdout + refused.stderr).lower()
    )
