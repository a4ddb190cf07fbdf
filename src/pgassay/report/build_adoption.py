"""What adopting another build means: one's own PostgreSQL, a new cluster, dump and restore, every upgrade after it.

From PostgreSQL's manual ("Installation from Source Code", "pg_upgrade", "Limits") and its sources: pg_control holds
both block sizes, the server refuses a cluster of others, and pg_upgrade refuses two that differ (check_control_data).
"""

from pgassay.study.units import format_bytes, parse_memory, split_quantity

_PAGE_HEADER_BYTES = 32
"""Of a page beside its largest row: header and one line pointer (MaxHeapTupleSize)."""

_OWN = (
    "a PostgreSQL of your own, since packages are built with 8kB and no setting changes it: configure {option}, and the"
    " same again for every minor release, with every extension"
)
_MOVE = (
    "a new cluster: initdb, then pg_dump and pg_restore, or logical replication for little downtime; pg_upgrade,"
    " physical standbys and base backups work only between servers of the same block sizes, so standbys and"
    " restored backups need this build too"
)


def steps(name: str, typed: str) -> list[str]:
    """What a level of `build.*` or `init.*` takes to adopt; empty where it cannot tell."""
    if name in ("build.block_size", "build.wal_block_size") and not (split_quantity(typed) or ("", ""))[1]:
        return []  # an imported level is what its column held, and may have no unit
    if name == "build.block_size":
        kilobytes = parse_memory(typed) // 1024
        limit = format_bytes(kilobytes * 1024 - _PAGE_HEADER_BYTES)
        return [
            f"{name} = {typed}: {_OWN.format(option=f'--with-blocksize={kilobytes}')}",
            _MOVE,
            f"limits change with the page: at most {limit} of a row in it (more goes to TOAST where the types allow), a"
            " btree key about a third of it; settings counted in blocks change their bytes (shared_buffers and others"
            " given in kB or MB do not)",
        ]
    if name == "build.wal_block_size":
        option = f"--with-wal-blocksize={parse_memory(typed) // 1024}"
        return [f"{name} = {typed}: {_OWN.format(option=option)}", _MOVE]
    if name == "build.cflags":
        return [f"{name} = {typed}: configure CFLAGS='{typed}'; the cluster stays, restart it with the new programs"]
    if name == "build.version":
        return [
            f"{name} = {typed}: within one major version install and restart; to another major one pg_upgrade, or dump"
            " and restore (read the release notes' migration section first)"
        ]
    if name == "build.source":
        return [f"{name} = {typed}: a build of your own; the cluster stays if catalogue version and block sizes agree"]
    if name == "init.data_checksums":
        option = "--enable" if typed in ("on", "true", "yes", "1") else "--disable"
        return [
            f"{name} = {typed}: stop the cluster cleanly, pg_checksums {option}, which reads or rewrites every page"
        ]
    if name == "init.wal_segment_size":
        return [
            f"{name} = {typed}: stop the cluster cleanly, pg_resetwal --wal-segsize (in MB), check what archives WAL"
        ]
    return []
