"""A fleet on one machine whose hosts are network namespaces: a link, a machine id and a data directory of their own.

The head's namespace holds a bridge, each host's a cable to it, so nothing is added to the machine's own network and all
of it goes with the namespaces. A host has control groups of its own too (`host_groups`), by which its processes are
found and ended, and which limit its memory and its share of the processors where the machine has these controllers.
What is emulated: the hosts share processors and drive. Addresses are those kept for such trials (RFC 2544).
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from pgassay.fleet import certificates
from tests.fleet import host_groups

ROOT = Path(__file__).parents[2]
NETWORK = "198.18.0"
HEAD = f"{NETWORK}.1"
PORT = 8786
END_S = 300.0
WAIT_S = 600.0
_NETWORK = 0x40000000
"""CLONE_NEWNET, since Python has setns from 3.12 on."""
# What another test has mounted just now would stay mounted here, and its device busy, when it unmounts it there. What
# the host's own data lie on stays.
_ENTER = r"""sed -nE 's#^([^ ]+ ){4}(/[^ ]+) .* - (fuse(\.[^ ]*)? .*|[^ ]+ /dev/loop.*)#\2#p' /proc/self/mountinfo |
sort -r | while read -r point; do test "$point" = "$PGASSAY_DATA_DIR" || umount --lazy "$point" || :; done
for group in $IN_GROUPS; do echo $$ >"$group/cgroup.procs"; done
mount --bind "$IDENTITY" /etc/machine-id && exec nsenter --net=/run/netns/"$SPACE" "$@"
"""


@dataclass(frozen=True)
class Host:
    """A namespace that programs run in as on a machine of its own."""

    name: str
    space: str
    folder: Path
    address: str
    groups: tuple[Path, ...] = ()

    @property
    def data(self) -> Path:
        """Where its clusters live."""
        return self.folder / "data"

    @contextmanager
    def inside(self) -> Iterator[None]:
        """This thread, and what it starts meanwhile, has the network of the host (setns(2)), and nothing else of it."""
        with Path("/proc/thread-self/ns/net").open("rb") as own, Path("/run/netns", self.space).open("rb") as there:
            _set_network(there.fileno())
            try:
                yield
            finally:
                _set_network(own.fileno())

    def start(self, *words: str, log: str = "log") -> "subprocess.Popen[bytes]":
        """`python -m` these words on the host; what it says is in a file of its folder."""
        return self.enter(sys.executable, "-m", *words, log=log)

    def enter(self, *words: str, log: str = "log", **more: str) -> "subprocess.Popen[bytes]":
        """Start a program on the host, in its folder."""
        environment = {
            **os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "SPACE": self.space,
            "IDENTITY": str(self.folder / "machine-id"), "IN_GROUPS": " ".join(map(str, self.groups)),
            "PGASSAY_DATA_DIR": str(self.data), "PGASSAY_STATE_DIR": str(self.folder / "state"), **more,
        }  # fmt: skip
        unshared = ["unshare", "--mount", "--propagation", "slave", "sh", "-ec", _ENTER, "sh"]
        with (self.folder / log).open("ab") as said:
            return subprocess.Popen([*unshared, *words], env=environment, cwd=self.folder, stdout=said, stderr=said)

    def said(self, log: str = "log") -> str:
        """What its programs said."""
        return (self.folder / log).read_text(encoding="utf-8", errors="replace")

    def processes(self) -> dict[int, str]:
        """What runs in its namespace: command lines by process id."""
        found = subprocess.run(["ip", "netns", "pids", self.space], capture_output=True, text=True, check=False)
        processes = {}
        for number in map(int, found.stdout.split()):
            with suppress(OSError):
                words = Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if words:
                    processes[number] = words.strip()
        return processes

    def servers(self) -> list[str]:
        """Its PostgreSQL servers."""
        return [words for words in self.processes().values() if "postgres" in words and " -D " in words]

    def cable(self, state: str) -> None:
        """`down`: it is cut off; `up`: no more."""
        subprocess.run(["ip", "-n", self.space, "link", "set", "eth0", state], check=True)


def awaited(what: str, happens: Callable[[], object], seconds: float = WAIT_S) -> None:
    """Wait for it; fails by name where it does not happen."""
    until = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < until, f"{what}: not within {seconds:g} s"
        time.sleep(0.2)


def joined(host: Host) -> int:
    """How often its workers were registered by a scheduler."""
    return host.said().count("Registered to:")


def end(process: "subprocess.Popen[bytes]") -> None:
    """Ask a program to end, and wait; kill it if it does not."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def link(space: str, device: str, *how: str) -> bool:
    """Let what leaves by a device be late or lost (netem, tc-netem(8)); False where this kernel cannot."""
    words = ["tc", "-n", space, "qdisc", "add", "dev", device, "root", "netem", *how]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def require_netem() -> None:
    """Skip, by name, where no link can be made worse."""
    require()
    if shutil.which("tc") is None:
        pytest.skip("tc is not installed")
    tried = f"pgassay-try-{os.getpid()}"
    _ip("netns", "add", tried)
    try:
        if not link(tried, "lo", "delay", "1ms"):
            pytest.skip("this kernel has no netem")
    finally:
        _ip("netns", "del", tried)


def require() -> None:
    """Skip, by name, where hosts cannot be made."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    for program in ("ip", "unshare", "nsenter"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    tried = f"pgassay-try-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", tried], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine gives no network namespaces")
    bridge = subprocess.run(
        ["ip", "-n", tried, "link", "add", "br0", "type", "bridge"], capture_output=True, check=False
    )
    subprocess.run(["ip", "netns", "del", tried], check=True)
    if bridge.returncode != 0:
        pytest.skip("this kernel has no bridge")


def _set_network(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _NETWORK) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def _host(folder: Path, name: str, number: int) -> Iterator[Host]:
    space = f"pgassay-{os.getpid()}-{folder.parent.name}-{name}"
    folder.mkdir()
    (folder / "data").mkdir()
    (folder / "machine-id").write_text(f"{number:032x}\n", encoding="ascii")
    with ExitStack() as stack:
        _ip("netns", "add", space)
        stack.callback(_ip, "netns", "del", space)
        host = Host(name, space, folder, f"{NETWORK}.{number}", stack.enter_context(host_groups.made(space)))
        stack.callback(_empty, host)
        _ip("-n", space, "link", "set", "lo", "up")
        yield host


def _empty(host: Host) -> None:
    """End what is left in a namespace."""
    until = time.monotonic() + END_S
    while (left := {*host.processes(), *host_groups.processes(host.groups)}) and time.monotonic() < until:
        for number in left:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        time.sleep(0.2)


@dataclass(frozen=True)
class Lab:
    """A head and its hosts, with certificates made for them; every path is one that servers' accounts may enter."""

    head: Host
    hosts: tuple[Host, ...]
    certs: Path
    address: str = f"tls://{HEAD}:{PORT}"

    def scheduler(self) -> "subprocess.Popen[bytes]":
        """Dask's scheduler, in the head's namespace."""
        found = certificates.find(self.certs, "head")
        tls = ["--tls-ca-file", found.authority, "--tls-cert", found.certificate, "--tls-key", found.key]
        words = ("--host", self.address, "--no-dashboard", "--dashboard-address", "127.0.0.1:0", *map(str, tls))
        return self.head.start("distributed.cli.dask_scheduler", *words, log="scheduler")

    def worker(self, host: Host) -> "subprocess.Popen[bytes]":
        """`pgassay fleet worker` on a host."""
        return host.start("pgassay", "fleet", "worker", self.address, "--certs", str(self.certs), "--name", host.name)

    def on(self) -> list[str]:
        """The options that name this fleet."""
        return ["--on", self.address, "--certs", str(self.certs), "--hosts", str(len(self.hosts))]


@contextmanager
def cabled(folder: Path, count: int) -> Iterator[tuple[Host, tuple[Host, ...]]]:
    """A head and `count` hosts that are cabled to it."""
    require()
    with ExitStack() as stack:
        head = stack.enter_context(_host(folder / "head", "head", 1))
        _ip("-n", head.space, "link", "add", "br0", "type", "bridge")
        _ip("-n", head.space, "addr", "add", f"{HEAD}/24", "dev", "br0")
        _ip("-n", head.space, "link", "set", "br0", "up")
        hosts = []
        for number in range(1, count + 1):
            host = stack.enter_context(_host(folder / f"h{number}", f"h{number}", number + 1))
            far = ("type", "veth", "peer", "name", "eth0", "netns", host.space)
            _ip("-n", head.space, "link", "add", f"port{number}", *far)
            _ip("-n", head.space, "link", "set", f"port{number}", "master", "br0", "up")
            _ip("-n", host.space, "addr", "add", f"{host.address}/24", "dev", "eth0")
            _ip("-n", host.space, "link", "set", "eth0", "up")
            _ip("-n", host.space, "route", "add", "default", "via", HEAD)
            hosts.append(host)
        yield head, tuple(hosts)


@contextmanager
def lab(folder: Path, count: int) -> Iterator[Lab]:
    """These as a fleet, which talks by TLS."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    with cabled(folder, count) as (head, hosts):
        certificates.make(folder / "certs", 2)
        yield Lab(head, hosts, folder / "certs")
