"""Addresses of schedulers: TLS, or plain TCP that never leaves this machine.

A Dask scheduler runs whatever code its clients send, and so do its workers. Hence a plain port is refused unless its
address is a literal one of the loopback interface; a name could be resolved to anything.
"""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from pgassay.errors import UsageError


@dataclass(frozen=True)
class Address:
    """Of a scheduler: `tls://head:8786`, or `tcp://127.0.0.1:8786`."""

    text: str
    encrypted: bool


def parse(text: str) -> Address:
    """Read an address; raises `UsageError` for another form, and for plain TCP to anywhere but this machine."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _wrong_address(text) from None
    bare = not (parts.path or parts.query or parts.fragment or parts.username or parts.password)
    if parts.scheme not in ("tls", "tcp") or not host or not port or not bare:
        raise _wrong_address(text)
    if parts.scheme == "tcp" and not _loopback(host):
        raise UsageError(
            f'"{text}" is not encrypted, and leads to another machine',
            "make certificates with pgassay fleet certs, use tls://HOST:PORT; tcp:// is for 127.0.0.1 and [::1] alone",
        )
    return Address(text, parts.scheme == "tls")


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _wrong_address(address: str) -> UsageError:
    """Not an address of a scheduler."""
    return UsageError(f'"{address}" is not an address of a scheduler', "tls://HOST:PORT, as tls://head:8786")
