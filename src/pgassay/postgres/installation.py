"""One set of PostgreSQL programs on this machine: makes clusters, starts servers on them, checks settings.

Clusters are private: our marker inside, a Unix socket in a closed directory, no TCP. The locale is C with UTF8, named
explicitly, so that the user's environment does not enter the result. Local connections are trusted (the socket's
directory is closed to others), all others rejected; no password exists anywhere. See the manual, "initdb".
"""

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pgassay.errors import UsageError
from pgassay.files import Directory
from pgassay.interfaces import versions
from pgassay.interfaces.errors import ClusterError, StartTimeoutError
from pgassay.interfaces.hosting import ANYWHERE, Placement
from pgassay.interfaces.places import Account, Endpoint, Listening, Version
from pgassay.interfaces.running import Clock, Runner, Running
from pgassay.interfaces.server import READY_S
from pgassay.postgres import network, ownership, processes, settings
from pgassay.postgres.complaints import KILLED, complaint
from pgassay.postgres.server import LocalServer, tail
from pgassay.study.units import parse_boolean, parse_memory, parse_whole

SUPERUSER = "postgres"
_POLL_S = 0.005
"""A look is one small file; a server on a crash state is ready after tenths of a second."""
_INITDB_S = 600.0
FIRST_TO_GO = {"PG_OOM_ADJUST_FILE": "/proc/self/oom_score_adj", "PG_OOM_ADJUST_VALUE": "1000"}
"""Where memory runs out, the kernel ends a process of ours before any other: each that the postmaster starts asks for
that (manual, "Linux Memory Overcommit"). Anybody may raise this score; where there is no such file, nothing happens."""


@dataclass(frozen=True)
class LocalInstallation:
    """A bin directory of this machine; implements `interfaces.server.Installation`."""

    bindir: Path
    version: Version
    found_by: str
    runner: Runner
    clock: Clock
    account: Account

    def initialize(self, directory: Path, options: Mapping[str, str]) -> None:
        """initdb into `directory` (absent or empty), with our marker; raises `ClusterError`."""
        if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
            raise ClusterError(
                f'directory "{directory}" is not empty', "clusters are only made in empty directories of ours"
            )
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = initdb_flags(options, self.version)
        with Directory.open(directory) as cluster:
            cluster.give_self(self.account.owner)
        command = [str(self.bindir / "initdb"), f"--pgdata={directory}", f"--username={SUPERUSER}", *flags]
        outcome = self.runner.run(command, timeout_s=_INITDB_S)
        if outcome.status != 0:
            raise ClusterError(
                f'initdb could not create a cluster in "{directory}": {complaint(outcome.stderr or outcome.stdout)[0]}'
            )
        with Directory.open(directory) as cluster:
            made = cluster.read("postgresql.conf")
            cluster.replace("postgresql.conf", made + f"\ninclude '{settings.FILE}'\n".encode(), self.account.owner)
        self._write_settings(directory, {})
        ownership.mark(directory, self.clock.wall_ns(), str(self.version), self.account)

    def start(
        self,
        directory: Path,
        settings: Mapping[str, str],
        socket_directory: Path,
        placement: Placement = ANYWHERE,
        ready_s: float = READY_S,
        listening: Listening | None = None,
        crashed: Path | None = None,
    ) -> LocalServer:
        """Write `settings` and start; the log is in `socket_directory`; raises `ClusterError`.

        Call from a thread that outlives the server: when that thread dies, the server shuts down at once.
        Raises `BenchError` where the address or the port of `listening` is not available.
        """
        if crashed is not None:
            ownership.mark_again(directory, crashed, self.account)
        ownership.require_mark(directory)
        try:
            with Directory.open(directory) as cluster:
                found = cluster.read("PG_VERSION").decode("utf-8", "replace").strip()
        except FileNotFoundError as error:  # as the server itself would say
            raise ClusterError(f'"{directory}" is not a valid data directory: PG_VERSION is missing') from error
        if found != str(self.version.major):
            raise ClusterError(
                f'cluster "{directory}" was made by PostgreSQL {found}, these programs are {self.version.major}'
            )
        if (pid := processes.postmaster(directory)) is not None:
            raise ClusterError(f'cluster "{directory}" is already served by process {pid}')
        sockets, port = ownership.prepare_socket_directory(socket_directory, self.account)
        self._write_settings(directory, settings)
        opened = None
        if listening is not None:
            opened = network.open_to(listening, socket_directory, self.runner, self.account)
            port = opened.port
        ownership.claim(directory)
        private = {
            "listen_addresses": "",
            **(opened.settings if opened is not None else {}),
            "port": str(port),
            "unix_socket_directories": str(sockets),
            "unix_socket_permissions": "0700",
            "logging_collector": "off",
            "log_destination": "stderr",
        }
        log = socket_directory / f"server-{port}.log"  # Others may use the same directory.
        with Directory.open(socket_directory) as place:
            place.replace(log.name, "")
        command = [str(self.bindir / "postgres"), "-D", str(directory), *_options(private)]
        running = self.runner.start(
            command,
            stdout=log,
            stderr=log,
            environment=FIRST_TO_GO,
            directory=Path("/"),
            death_signal=signal.SIGQUIT,
            placement=placement,
        )
        endpoint = Endpoint(sockets, port, network.DATABASE, SUPERUSER)
        server = LocalServer(running, directory, endpoint, self.version, log, placement, opened)
        try:
            self._wait_ready(directory, running, log, ready_s)
            for statement in opened.statements() if opened is not None else ():
                server.execute(statement)
        except BaseException:
            server.stop(immediately=True)
            raise
        return server

    def require_network(self) -> None:
        """Raise `BenchError` without openssl, `SettingError` for a PostgreSQL that was compiled without TLS."""
        network.require(self.runner)
        self.check_settings({"ssl": "on"})

    def setting(self, directory: Path, settings: Mapping[str, str], name: str) -> str:
        """What `postgres -C name` says for these settings, without starting; raises `SettingError`.

        Settings of an earlier start are forgotten.
        """
        ownership.require_mark(directory)
        self._write_settings(directory, {})
        return _ask(self.runner, self.bindir, directory, settings, name)

    def check_settings(self, values: Mapping[str, str]) -> None:
        """Raise before anything runs if PostgreSQL does not know a setting or refuses its value (`SettingError`).

        Needs no cluster: a scratch directory with an empty configuration file is enough for `postgres -C`.
        """
        with ownership.empty_configuration(self.account) as scratch:
            settings.check(self.runner, self.bindir, scratch, values)

    def _write_settings(self, directory: Path, values: Mapping[str, str]) -> None:
        with Directory.open(directory) as cluster:
            cluster.replace(settings.FILE, settings.file_text(values), self.account.owner)

    def _wait_ready(self, directory: Path, running: Running, log: Path, ready_s: float) -> None:
        """Until postmaster.pid says `ready`; its eighth line is the status."""
        deadline = self.clock.monotonic_ns() + int(ready_s * 1e9)
        while True:
            lines = processes.pid_file(directory)
            if len(lines) > 7 and lines[0] == str(running.pid) and lines[7].strip() == "ready":
                return
            try:
                ended = running.wait(0.0)
            except TimeoutError:
                if self.clock.monotonic_ns() > deadline:
                    raise StartTimeoutError(
                        f"server was not ready after {ready_s:.0f} s; its last message: {complaint(tail(log))[0]}"
                    ) from None
                self.clock.sleep(_POLL_S)
                continue
            words = complaint(tail(log))[0]
            if ended.status == -signal.SIGKILL:
                words = f"it {KILLED}; its last message: {words}"
            raise ClusterError(f"server did not start: {words}")


_ask = settings.ask
_options = settings.as_options


INITDB_ALWAYS = ("--locale=C", "--encoding=UTF8", "--auth-local=trust", "--auth-host=reject", "--no-sync")
"""Without its sync, file by file: what is kept of a cluster is a snapshot, which is written back as a whole."""
INITDB_OPTIONS = ("data_checksums", "wal_segment_size")
COPY_DATABASE = "copy_database"
"""Instead of initdb: the database of a server of the user's that ours is a copy of."""
_MB = 1024**2


def initdb_flags(options: Mapping[str, str], version: Version) -> list[str]:
    """The command line for these `init.*` levels; raises `UsageError` for what initdb does not know."""
    found = list(INITDB_ALWAYS)
    if version.major >= versions.NO_INSTRUCTIONS:
        found.append("--no-instructions")
    for name, value in options.items():
        if name == "data_checksums":
            if parse_boolean(value):
                found.append("--data-checksums")
            elif version.major >= versions.CHECKSUMS_BY_DEFAULT:
                found.append("--no-data-checksums")
        elif name == "wal_segment_size":
            found.append(f"--wal-segsize={wal_segment_bytes(value) // _MB}")
        else:
            raise UsageError(f'unknown initdb option "init.{name}"', f"known are: {', '.join(INITDB_OPTIONS)}")
    return found


def wal_segment_bytes(text: str) -> int:
    """`"64MB"` (or a bare number of MB, as initdb takes it) in bytes: a power of two from 1MB to 1GB."""
    size = parse_memory(text) if (number := parse_whole(text)) is None else number * _MB
    if size not in {2**power * _MB for power in range(11)}:
        raise UsageError(f'"init.wal_segment_size" cannot be "{text}"', "it takes a power of two from 1MB to 1GB")
    return size
