"""The run directory: what the lab writes and the report reads; see docs/record.md for the format and its promise.

Append-only and fsynced: a journal of every decision (`journal`), one directory a trial, committed by rename (`trials`),
per-second series (`series`), compacted copies for large runs (`compaction`).
"""
