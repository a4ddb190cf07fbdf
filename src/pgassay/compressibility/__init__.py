"""What a compressing drive would make of an existing cluster's files, which are only read.

No emulated drive and no server are needed. Each 4 KiB block is compressed alone, as such drives do (the crate codec);
docs/drives.md says what is estimated and from what. `estimate.estimate` is the whole of it.
"""
