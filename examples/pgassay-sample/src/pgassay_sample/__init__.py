"""Adds a load, a host factor, a probe and a kind of drive to pgassay; see README.md."""
