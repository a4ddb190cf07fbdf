"""A server's log as a load: its sessions, statements, values, order and pauses once more (docs/player.md).

Each call is sent when it was due in the source, whatever the server answers meanwhile (open loop), so a server that
stalls is late with all that waits behind it, and is charged for it.
"""

from pgassay.bench.load import Driver, Load, Tools
from pgassay.load.replay.options import ReplayOptions
from pgassay.study.work import CALL


def _make(options: ReplayOptions, tools: Tools) -> Load:
    from pgassay.load.replay.driver import ReplayLoad

    return ReplayLoad(options, tools)


DRIVER = Driver(ReplayOptions, _make, "a server's log, played again in its own time, on your data", work=CALL)
