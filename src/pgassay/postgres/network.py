"""A server that a load reaches over TCP: a certificate, a role and a password made for one start, and gone with it.

Everything lies in a private directory next to the socket, which the server is given on its command line, so nothing in
the data directory changes but the role, which goes with the clone. A file of rules of its own takes the place of
pg_hba.conf: our socket as before, and over TCP one role, from one address, with TLS and SCRAM, and nobody else. The
password's verifier is worked out here (RFC 5802, RFC 7677; manual, "pg_authid"), so that no statement holds it.
"""

import hashlib
import hmac
import os
import secrets
import socket
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pgassay import children
from pgassay.files import Directory
from pgassay.interfaces.errors import BenchError
from pgassay.interfaces.places import Account, Endpoint, Listening, Network
from pgassay.interfaces.running import Runner
from pgassay.postgres import ownership
from pgassay.postgres.complaints import complaint

DATABASE = "postgres"
OPENSSL = "openssl"
_KEY, _CERTIFICATE, _RULES, _PASSWORD = "server-key.pem", "server.pem", "rules.conf", "password"
_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
_DAYS = "7"
"""Longer than a trial may take."""
_ITERATIONS = 4096
"""PostgreSQL's own number; the password is no word that could be guessed."""
_GRANTS = """
DO $grants$
DECLARE
    place text;
BEGIN
    FOR place IN SELECT quote_ident(nspname) FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema$)' LOOP
        EXECUTE 'GRANT ALL ON SCHEMA ' || place || ' TO {role}';
        EXECUTE 'GRANT ALL ON ALL TABLES IN SCHEMA ' || place || ' TO {role}';
        EXECUTE 'GRANT ALL ON ALL SEQUENCES IN SCHEMA ' || place || ' TO {role}';
        EXECUTE 'GRANT ALL ON ALL ROUTINES IN SCHEMA ' || place || ' TO {role}';
    END LOOP;
END
$grants$"""
"""What a load works on; it is no superuser, since its password is good for more than this machine."""


@dataclass(frozen=True)
class Opening:
    """What one start needs to be reached over TCP; `close` removes all of it.

    `kept` is bound to the port until then, without listening: whoever looks for a free one gets another, while
    PostgreSQL, which asks for this very one, gets it (ip(7), SO_REUSEADDR).
    """

    folder: Path
    listening: Listening
    port: int
    role: str
    password: str = field(repr=False)
    kept: socket.socket | None = field(default=None, repr=False, compare=False)

    @property
    def settings(self) -> Mapping[str, str]:
        return {
            "listen_addresses": self.listening.address,
            "hba_file": str(self.folder / _RULES),
            "ssl": "on",
            "ssl_cert_file": str(self.folder / _CERTIFICATE),
            "ssl_key_file": str(self.folder / _KEY),
            "ssl_ca_file": "",
            "ssl_crl_file": "",
        }

    def statements(self) -> tuple[str, ...]:
        return (
            f"CREATE ROLE {self.role} LOGIN PASSWORD '{verifier(self.password, os.urandom(16))}'",
            _GRANTS.format(role=self.role),
            *(f"ALTER DEFAULT PRIVILEGES GRANT ALL ON {each} TO {self.role}" for each in ("TABLES", "SEQUENCES")),
        )

    def endpoint(self, ours: Endpoint) -> Endpoint:
        files = (self.folder / _PASSWORD, self.folder / _CERTIFICATE)
        return replace(ours, user=self.role, network=Network(self.listening.address, *files))

    def close(self) -> None:
        """Remove key, certificate, rules and password, and release the port; calling it twice is harmless."""
        ownership.remove_private_directory(self.folder)
        if self.kept is not None:
            self.kept.close()


def open_to(listening: Listening, place: Path, runner: Runner, account: Account) -> Opening:
    """Make the files in a new folder of `place`, a private directory; raises `BenchError`."""
    kept = bound(listening)
    port = int(kept.getsockname()[1])
    folder = place / f"network-{port}"
    role, password = f"pgassay_client_{secrets.token_hex(4)}", secrets.token_urlsafe(32)
    opening = Opening(folder, listening, port, role, password, kept)
    try:
        ownership.remove_private_directory(folder)
        folder.mkdir(mode=0o700)
        with Directory.open(folder) as made:
            made.give_self(account.owner)
        # Signed by itself: it is the only one that the client believes.
        require(runner)
        key, certificate = opening.folder / _KEY, opening.folder / _CERTIFICATE
        files = ("-keyout", str(key), "-out", str(certificate), "-days", _DAYS)
        named = ("-subj", "/CN=pgassay", "-addext", f"subjectAltName=IP:{opening.listening.address}")
        done = runner.run([OPENSSL, "req", "-x509", *_CURVE, *files, *named])
        if done.status:
            raise _no_certificate(complaint(done.stderr)[0])
        with Directory.open(folder) as made:
            made.replace(_RULES, rules(opening.role, listening.peer), account.owner)
            made.replace(_PASSWORD, password_line(opening), account.owner)  # whoever runs the load reads it
            made.give(_KEY, account.owner, 0o600)
    except BaseException:
        opening.close()
        raise
    return opening


def require(runner: Runner) -> None:
    if children.which(OPENSSL) is None:
        raise _no_certificate("openssl is not installed")


def bound(listening: Listening) -> socket.socket:
    """A socket at the port that was asked for (or one of them), or at any free one; raises `BenchError` for none."""
    first, failure = listening.port or 0, OSError()
    for port in range(first, first + listening.ports):
        tried = socket.socket(socket.AF_INET6 if ":" in listening.address else socket.AF_INET)
        try:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as PostgreSQL does
            tried.bind((listening.address, port))
        except OSError as error:
            tried.close()
            failure = error
        else:
            return tried
    raise BenchError(f"could not listen on {listening.named}: {(failure.strerror or str(failure)).lower()}")


def rules(role: str, peer: str) -> str:
    """The text in place of pg_hba.conf: what no line names is rejected."""
    mask = 128 if ":" in peer else 32
    return f'local all all trust\nhostssl {DATABASE} "{role}" {peer}/{mask} scram-sha-256\n'


def password_line(opening: Opening) -> str:
    """A line of libpq's password file (manual, "The Password File")."""
    words = (opening.listening.address, str(opening.port), DATABASE, opening.role, opening.password)
    return ":".join(word.replace("\\", "\\\\").replace(":", "\\:") for word in words) + "\n"


def verifier(password: str, salt: bytes) -> str:
    """What PostgreSQL keeps of a password in ASCII."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    served = hmac.digest(salted, b"Server Key", "sha256")
    shown = [b64encode(each).decode() for each in (salt, stored, served)]
    return f"SCRAM-SHA-256${_ITERATIONS}:{shown[0]}${shown[1]}:{shown[2]}"


def _no_certificate(said: str) -> BenchError:
    return BenchError(f"could not make the certificate of a server: {said}", "it takes the program openssl")
