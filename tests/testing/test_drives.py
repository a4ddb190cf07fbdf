"""An image, of which the drives of packages are made, keeps the contract of their disks."""

import pytest

from pgassay.drive.block.image import ImageVolume, PluginDrive
from pgassay.testing.contracts import DriveContract


class TestImages(DriveContract):
    @pytest.fixture
    def drive(self) -> PluginDrive:
        return PluginDrive(ImageVolume, "a thin disk in a file")
