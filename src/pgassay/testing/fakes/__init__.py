"""The fake clock and server of the contracts."""
