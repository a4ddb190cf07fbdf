"""The drive `plugin:thick`: a disk in a file of the host with all of its room allocated before a trial.

A hypervisor calls such a disk thick-provisioned. Of pgassay's own `image`, which is thin, the host's file system
allocates each block at its first write. A comparison of the two measures what that costs. (Of a thick disk it only
notes at the first write that the block has been written.)
"""

import errno
import os
import shutil

from pgassay.drive.block.image import ImageVolume, PluginDrive, too_little_room


class ThickVolume(ImageVolume):
    """Allocates what pgassay's copy of a kept disk left as holes; mkfs would discard what a new disk had allocated."""

    def shares(self) -> bool:
        """Never: a block that is shared with the kept disk is allocated at its first write."""
        return False

    def restore(self, key: str) -> None:
        """By posix_fallocate(3), which changes no byte; raises `SpaceError` where the host has no room."""
        super().restore(key)
        try:
            with self.file.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, self.capacity_bytes)
        except OSError as failure:
            if failure.errno != errno.ENOSPC:
                raise
            home = self.file.parent
            free = shutil.disk_usage(home).free
            raise too_little_room(home, self.capacity_bytes, free, "a disk that is allocated before") from None


THICK = PluginDrive(ThickVolume, "a disk in a file, allocated before a trial")
