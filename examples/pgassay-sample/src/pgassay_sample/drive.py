"""The drive `plugin:thick`: a disk in a file of the host with all of its room allocated before a trial.

A hypervisor calls such a disk thick-provisioned. Of pgassay's own `image`, which is thin, the host's file system
allocates each block at its first write. A comparison of the two measures what that costs.
"""

import os

from pgassay.drive.block.image import ImageVolume, PluginDrive
from pgassay.drive.root import refusals_in


class ThickVolume(ImageVolume):
    """Allocates what pgassay's copy of a kept disk left as holes; mkfs would discard what a new disk had allocated."""

    def restore(self, key: str) -> None:
        """By posix_fallocate(3), which changes no byte; raises `SpaceError` where the host has no room."""
        super().restore(key)
        with refusals_in(self.file.parent, "allocate a disk"), self.file.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, self.capacity_bytes)


THICK = PluginDrive(ThickVolume, "a disk in a file, allocated before a trial")
