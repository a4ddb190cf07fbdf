"""Bytes that no codec makes smaller, the same at every run: what fails once fails again."""

from random import Random


def noise(size: int, seed: int = 0) -> bytes:
    """As many bytes as asked for; another seed gives others."""
    return Random(seed).randbytes(size)
