"""How a fleet is reached: addresses of schedulers, and certificates (an authority of its own, one for each end).

A Dask scheduler runs whatever code its clients send, and so do its workers. Hence a plain port is refused unless its
address is a literal one of the loopback interface; a name could be resolved to anything.

By the `openssl` program, so that no library of cryptography is needed; every call is a list of words. Keys are made
with mode 0600 in a directory of mode 0700. Dask asks both ends for a certificate of this authority and looks at no
names, so whoever holds one may run programs on every host (docs/fleet.md, "Security").
"""

import shutil
import subprocess
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pgassay import children
from pgassay.errors import PgassayError, UsageError

if TYPE_CHECKING:
    from distributed import Security

AUTHORITY = "ca"
HEAD = "head"
WORKER = "worker"
_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
_AUTHORITY = ("basicConstraints=critical,CA:TRUE,pathlen:0", "keyUsage=critical,keyCertSign")
_LEAF = (
    "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\n"
)


@dataclass(frozen=True)
class Credentials:
    """The files of one end: authority, certificate, private key."""

    authority: Path
    certificate: Path
    key: Path


def make(folder: Path, days: int) -> tuple[Path, ...]:
    """Make authority, head's and workers' certificates in a new directory; raises `PgassayError`.

    The authority's key is removed when it has signed: nobody can add a certificate later, and nobody can steal it.
    """
    if children.which("openssl") is None:
        raise PgassayError("openssl is not installed", "install it: apt install openssl")
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        raise UsageError(f'directory "{folder}" is there already', "name a new one, or remove it") from None
    try:
        key, authority = folder / f"{AUTHORITY}-key.pem", folder / f"{AUTHORITY}.pem"
        added = [word for extension in _AUTHORITY for word in ("-addext", extension)]
        subject = ("-subj", "/CN=pgassay fleet")
        _openssl(
            "the authority", "req", "-x509", *_CURVE, "-keyout", key, "-out", authority, "-days", days, *subject, *added
        )
        extensions = folder / "leaf.cnf"
        extensions.write_text(_LEAF, encoding="ascii")
        for name in (HEAD, WORKER):
            request, certificate = folder / f"{name}.csr", folder / f"{name}.pem"
            step, subject = f"the certificate of the {name}", ("-subj", f"/CN=pgassay {name}")
            _openssl(step, "req", "-new", *_CURVE, "-keyout", folder / f"{name}-key.pem", "-out", request, *subject)
            signing = ("-CA", authority, "-CAkey", key, "-CAcreateserial", "-days", days, "-extfile", extensions)
            _openssl(step, "x509", "-req", "-in", request, "-out", certificate, *signing)
            request.unlink()
        extensions.unlink()
        key.unlink()
        for path in folder.glob("*.srl"):
            path.unlink()
    except BaseException:
        shutil.rmtree(folder)
        raise
    return tuple(sorted(folder.iterdir()))


def _openssl(step: str, *words: str | int | Path) -> None:
    done = subprocess.run(
        [children.which("openssl") or "openssl", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        umask=0o077,
        env=children.environment_of(),
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0:
        raise PgassayError(f"could not make {step}: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")


def find(folder: Path, end: str) -> Credentials:
    """The files of the head or of a worker in `folder`; raises `UsageError` for missing ones and for open keys."""
    found = Credentials(folder / f"{AUTHORITY}.pem", folder / f"{end}.pem", folder / f"{end}-key.pem")
    missing = [path.name for path in (found.authority, found.certificate, found.key) if not path.is_file()]
    if missing:
        raise UsageError(
            f'directory "{folder}" lacks {", ".join(missing)}',
            "pgassay fleet certs DIR makes them; name the directory with --certs",
        )
    if found.key.stat().st_mode & 0o077:
        raise UsageError(f'others may read the private key "{found.key}"', f"chmod 0600 {found.key}")
    return found


def security(credentials: Credentials) -> "Security":
    """TLS, both ends with a certificate of the fleet's authority, nothing plain accepted."""
    from distributed import Security

    ca, certificate, key = (str(path) for path in (credentials.authority, credentials.certificate, credentials.key))
    return Security(
        tls_ca_file=ca,
        tls_client_cert=certificate,
        tls_client_key=key,
        tls_worker_cert=certificate,
        tls_worker_key=key,
        require_encryption=True,
    )


@dataclass(frozen=True)
class Address:
    text: str
    encrypted: bool


def parse_address(text: str) -> Address:
    """Read an address; raises `UsageError` for another form, and for plain TCP to anywhere but this machine."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        bare = not (parts.path or parts.query or parts.fragment or parts.username or parts.password)
        fits = parts.scheme in ("tls", "tcp") and host and port and bare
    except ValueError:
        fits = False
    if not fits:
        raise UsageError(f'"{text}" is not an address of a scheduler', "tls://HOST:PORT, as tls://head:8786")
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
