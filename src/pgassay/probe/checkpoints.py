"""Checkpoints and the background writer: pg_stat_bgwriter up to 16, pg_stat_checkpointer beside it from 17 on.

In 17 and later `checkpoints_timed` also counts timed checkpoints that were skipped because nothing was written; 18
tells those done. `buffers_backend` is gone from 17 on (pg_stat_io has it by kind of process).
"""

from pgassay.probe.views import View, counter

SOURCE = "checkpoints"
CHECKPOINTER_SINCE = 17
DONE_SINCE = 18


def view(version: int) -> View:
    """One row in every version."""
    new = version >= CHECKPOINTER_SINCE
    columns = (
        counter("checkpoints_timed", "count", "k.num_timed" if new else "b.checkpoints_timed"),
        counter("checkpoints_requested", "count", "k.num_requested" if new else "b.checkpoints_req"),
        counter("checkpoints_done", "count", "k.num_done" if version >= DONE_SINCE else None),
        counter("checkpoint_write_ms", "ms", "k.write_time" if new else "b.checkpoint_write_time"),
        counter("checkpoint_sync_ms", "ms", "k.sync_time" if new else "b.checkpoint_sync_time"),
        counter("buffers_checkpoint", "blocks", "k.buffers_written" if new else "b.buffers_checkpoint"),
        counter("buffers_clean", "blocks", "b.buffers_clean"),
        counter("maxwritten_clean", "count", "b.maxwritten_clean"),
        counter("buffers_backend", "blocks", None if new else "b.buffers_backend"),
        counter("buffers_alloc", "blocks", "b.buffers_alloc"),
    )
    origin = "FROM pg_stat_bgwriter b" + (" CROSS JOIN pg_stat_checkpointer k" if new else "")
    return View(SOURCE, columns, origin)
