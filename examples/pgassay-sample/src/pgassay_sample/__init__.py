"""Adds a load, a host factor and a probe to pgassay; see README.md."""
