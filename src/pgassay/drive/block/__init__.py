"""Drives that are block devices with a file system of our own: images, emulated drives, real devices.

`drive.BlockDrive` puts mkfs, mount and snapshots on top of a disk (`image`, `emulated`), `device` is a real one, and
`kernel` and `daemon` are all that touches loop devices, mounts and programs. What a killed lab left, `drive.sessions`
gives back.
"""
