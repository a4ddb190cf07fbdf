"""The installed go-tpc as a load: its five TPC-C transactions on tables that we fill, over the private Unix socket."""

from pgassay.load.go_tpc.driver import GoTpcLoad

__all__ = ["GoTpcLoad"]
