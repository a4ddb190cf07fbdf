"""An image, of which the drives of packages are made, keeps the contract of their disks."""

import pytest

from pgassay.drive.block.image import ImageVolume, PluginDrive
from pgassay.testing.contracts import DriveContract


def test_only_a_disk_in_a_file_makes_a_drive() -> None:
    for wrong in (int, "thick", ImageVolume.blank):
        with pytest.raises(TypeError, match="derived from ImageVolume"):
            PluginDrive(wrong, "odd")  # type: ignore[arg-type]


class TestImages(DriveContract):
    @pytest.fixture
    def drive(self) -> PluginDrive:
        return PluginDrive(ImageVolume, "a thin disk in a file")
