"""What a fleet refuses or reports, in PostgreSQL's manner: lower case, no full stop, with a hint where one helps."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pgassay.bench.errors import ClientLostError, LoadError
from pgassay.errors import PgassayError, UsageError


class FleetError(PgassayError):
    """A fault of the fleet: a scheduler that is not there, a host that fails, a parcel that is damaged."""


class DamagedError(FleetError):
    """What came is not what was sent; sent again it may be."""


def wrong_address(address: str) -> UsageError:
    """Not an address of a scheduler."""
    return UsageError(f'"{address}" is not an address of a scheduler', "tls://HOST:PORT, as tls://head:8786")


def plain_refused(address: str) -> UsageError:
    """Whoever reaches a plain port runs programs as its owner."""
    return UsageError(
        f'"{address}" is not encrypted, and leads to another machine',
        "make certificates with pgassay certs, and use tls://HOST:PORT; tcp:// is for 127.0.0.1 and [::1] alone",
    )


def certificates_missing(folder: Path, names: Sequence[str]) -> UsageError:
    """TLS without all of its files."""
    return UsageError(
        f'directory "{folder}" lacks {", ".join(names)}',
        "pgassay certs DIR makes them; name the directory with --certs",
    )


def key_readable(path: Path) -> UsageError:
    """As libpq refuses a key that others may read."""
    return UsageError(f'others may read the private key "{path}"', f"chmod 0600 {path}")


def folder_in_use(folder: Path) -> UsageError:
    """Certificates are never written over: workers that have the old ones would be shut out."""
    return UsageError(f'directory "{folder}" is there already', "name a new one, or remove it")


def no_openssl() -> PgassayError:
    """The program that makes certificates."""
    return PgassayError("openssl is not installed", "install it: apt install openssl")


def openssl_failed(step: str, said: str) -> PgassayError:
    """What openssl said about a step."""
    return PgassayError(f"could not make {step}: {said}")


def no_scheduler(address: str, reason: str) -> FleetError:
    """Nobody answers, or with another certificate."""
    return FleetError(f"no scheduler answers at {address}: {reason}", "start it with dask scheduler (docs/fleet.md)")


def too_few_hosts(found: int, asked: int, seconds: float) -> FleetError:
    """Workers that did not come."""
    return FleetError(
        f"{found} of {asked} hosts came within {seconds:.0f} s",
        "start pgassay worker on each, or ask for fewer --hosts",
    )


def same_machine(names: Sequence[str]) -> FleetError:
    """Two workers on one machine are one host, and would pretend to be two."""
    return FleetError(
        f"workers {', '.join(names)} run on one machine, so they are one host",
        "one worker a machine; --shared-machine allows it for trying things out, and the record says so",
    )


def other_version(host: str, theirs: str, ours: str) -> FleetError:
    """Two versions of the program in one record would be two experiments."""
    return FleetError(f"{host} has pgassay {theirs}, the head {ours}", "install the same version on all")


def differing(facts: Sequence[str]) -> FleetError:
    """Hosts of more than one kind."""
    return FleetError(
        f"the hosts are not of one kind: {'; '.join(facts)}",
        "leave out those that differ, or allow it with --mixed-hosts: the effect is then one of such a mixture",
    )


def host_failed(block: int, reason: str) -> FleetError:
    """A block that no host could bring to its end."""
    return FleetError(f"block {block} failed: {reason}", "resume the run when the hosts are well again")


def nobody_left(failed: Mapping[str, str], seconds: float) -> FleetError:
    """Blocks that nobody can bring home: every host has been missing, or was left out before."""
    out = "".join(f"; {host} was left out: {reason}" for host, reason in failed.items())
    return FleetError(f"no host was heard for {seconds:.0f} s{out}", "start the workers again, and resume the run")


def all_hang(hosts: Sequence[str], seconds: float) -> FleetError:
    """Every host has its block for many times as long as blocks take."""
    return FleetError(
        f"all hosts with a block hang in it, for {seconds:.0f} s at least: {', '.join(hosts)}",
        "look at their disks and processes, and resume the run",
    )


def bench_ended(status: int) -> str:
    """A bench that said nothing."""
    return f"the bench ended with {status}"


def damaged_parcel(block: int, reason: str) -> FleetError:
    """What came home is not what was sent."""
    return FleetError(f"block {block} came home damaged: {reason}", "resume the run: the block is run again")


def not_in_block(block: int, arm: str, attempt: int) -> str:
    """A trial that the design wants and a host did not run."""
    return f"attempt {attempt} of {arm} is missing"


_ALONE = "run the study on one machine, without --on"


def cannot_travel(reasons: Mapping[str, str]) -> UsageError:
    """Files of the user's that cannot be sent to the hosts, each with the reason."""
    told = "; ".join(f'"{name}" {why}' for name, why in reasons.items())
    return UsageError(f"the study names files that cannot be sent to the hosts: {told}", _ALONE)


def changed_since(names: Sequence[str]) -> UsageError:
    """Half a run with one script and half with another would be no experiment."""
    listed = ", ".join(f'"{name}"' for name in names)
    return UsageError(
        f"files of the study have changed since the run began: {listed}",
        "put back what they held then, or start a new run",
    )


def cannot_be_read(reason: str) -> str:
    """A file that is not there, or that we may not read."""
    return f"cannot be read: {reason.lower()}"


def too_large(found: int, most: int) -> str:
    """More than a block's order can hold."""
    mib = 1 << 20
    return f"is too large: it has {found / mib:.1f} MiB, and all files together may have {most / mib:.0f} MiB"


def reads_another(line: str) -> str:
    """A file that psql is led to by another one."""
    return f"has psql read another file: {line}"


def damaged_file(path: str) -> DamagedError:
    """A file of the user's whose content is not what its hash says."""
    return DamagedError(f'the file "{path}" came damaged, or its name cannot be used')


IS_FOLDER = "is a directory"
IS_NO_FILE = "is no plain file"
ODD_NAME = "has a quote, a backslash or a control character in its path"
NOT_SENT = "is named for something that only a file of the host itself can be"
RELATIVE = "is named by a path that does not begin at the root"


def no_worker(name: str, known: Sequence[str], seconds: float) -> FleetError:
    """The worker that `load.host` names is not connected."""
    there = f"connected are {', '.join(known)}" if known else "no worker is connected"
    return FleetError(
        f'the worker "{name}" did not come within {seconds:.0f} s', f"{there}; start it: pgassay worker … --name {name}"
    )


def client_lost(name: str) -> ClientLostError:
    """A window whose load nobody heard the end of."""
    return ClientLostError(f'the host "{name}" of the load is gone, or its network is')


def client_failed(name: str, reason: str) -> LoadError:
    """The load's program could not run there at all."""
    return LoadError(f'the host "{name}" could not run the load: {reason}')


def other_player(name: str, theirs: str, ours: str) -> FleetError:
    """Slices are told in one language only between players of one version."""
    return FleetError(
        f'the host "{name}" has {theirs or "a player that says no version"}, and this machine has {ours}',
        "install the same pgassay on both; $PGASSAY_PLAYER names another program",
    )


def blocks_with_client() -> UsageError:
    """Hosts that run blocks have no way to the scheduler of a client."""
    return UsageError("--on and --client exclude each other", "run the blocks here and the load on the worker")


def snapshots_of_hosts() -> UsageError:
    """Each host of a fleet keeps its prepared data with its clusters."""
    return UsageError(
        "--on and --snapshots-in exclude each other",
        "workers keep prepared data where their clusters live; leave out --snapshots-in",
    )


SCHEDULER_LOST = "the scheduler is gone"
LOST_SCHEDULER = "the scheduler does not answer; looking for it again"
SHARED = "several workers on one machine stood for several hosts, so how hosts differ is not known"
MIXED = "hosts of several kinds ran blocks, as was allowed"
