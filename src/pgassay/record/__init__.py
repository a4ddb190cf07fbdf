"""The run directory: what the lab writes and the report reads; see docs/record.md for the format and its promise.

`directory.RunDirectory` writes (one runner at a time), `reading.Run` reads (anyone, at any time). Beneath them: a
journal of every decision (`journal`), one directory a trial, committed by rename (`trials`), per-second series
and compacted copies for large runs (`series`). Everything goes through a `disk.Disk`, so that every write,
fsync and rename can be made to fail in a test (`testing.fakes.disk`).
"""
