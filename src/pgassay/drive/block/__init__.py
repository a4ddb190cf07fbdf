"""Drives that are block devices with a file system of our own: images, emulated drives, real devices.

`volume.Volume` is what lies under the file system, `drive.BlockDrive` puts mkfs, mount and snapshots on top of it, and
`kernel` and `leftovers` are all that touches loop devices and mounts.
"""
