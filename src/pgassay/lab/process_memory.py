"""What a server's processes take of its memory, beside what it caches.

It does not shrink with the data, so a scale model gives it to each trial on top of `host.memory`. Where it had to come
out of the limit, the kernel ended the servers of a model of 70 MB whose sessions had opened 200 tables each, and with
one allowance for all arms a session of one thread had the memory of 32.
"""

from math import ceil

from pgassay.bench.load import LoadOptions

MEMORY = "host.memory"
"""The factor that limits it."""
_MB = 1 << 20
SERVER_BYTES = 24 * _MB
"""Of the server itself: its processes without a client, and shared memory that is no buffer."""


def process_bytes(load: LoadOptions) -> int:
    """Of a server that plays this load, with a session for each of its connections; whole megabytes."""
    return SERVER_BYTES + ceil(load.connections * load.session_bytes / _MB) * _MB
