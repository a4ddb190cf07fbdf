"""Every message of the host room that a user may see: lower case, no full stop, with a hint where one helps."""

from pathlib import Path

from pgassay.bench.errors import BenchError, HostError
from pgassay.bench.places import Account
from pgassay.errors import UsageError
from pgassay.study.units import format_size


def program_missing(program: str) -> BenchError:
    """A program that is not on this machine."""
    return BenchError(f'program "{program}" was not found', "install it, or add its directory to PATH")


def no_passwd_entry(uid: int) -> BenchError:
    """initdb looks the user up and fails without an entry."""
    return BenchError(
        f"the current user id {uid} has no entry in the password database, and PostgreSQL wants one",
        f"add one (useradd --uid {uid} pgassay), or run as another user",
    )


def no_account() -> BenchError:
    """We are root, and there is no other account to run a server."""
    return BenchError(
        "PostgreSQL does not run as root, and no unprivileged account was found to run it under",
        "create one: useradd --system pgassay",
    )


def unreachable(path: Path, barrier: Path, account: Account) -> BenchError:
    """The servers' account cannot enter a directory."""
    return BenchError(
        f'account "{account.name}" cannot reach "{path}": it may not enter "{barrier}"',
        "choose a place that it can enter, such as one below /var/lib or /srv",
    )


def no_mount(path: Path) -> BenchError:
    """A path whose file system the kernel does not list."""
    return BenchError(f'could not find out which file system holds "{path}"')


def host_refused(path: Path, value: str, error: OSError) -> HostError:
    """The kernel refuses a value."""
    return HostError(f'could not write {value} to "{path}": {(error.strerror or str(error)).lower()}')


def machine_in_use() -> BenchError:
    """Two labs cannot both have huge pages or limits of their own: that interrupts a run and blames no treatment."""
    return BenchError(
        "another pgassay is changing this machine's settings",
        "wait for it to end, then: pgassay resume; only one pgassay at a time may use host.* factors",
    )


def not_given_back(path: Path, error: OSError) -> HostError:
    """A change of ours could not be undone."""
    return HostError(
        f'could not restore "{path}": {(error.strerror or str(error)).lower()}',
        "it stays on the list of changes: pgassay doctor --repair tries again",
    )


def huge_pages_missing(needed: int, page: str, got: int) -> HostError:
    """Memory is too fragmented, or there is too little of it."""
    return HostError(
        f"the server needs {needed} huge pages of {page}, and this machine could free only {got}", code="hugepage_error"
    )


def huge_pages_uncounted(answer: str) -> HostError:
    """The server does not say how many it needs."""
    return HostError(f'the server did not say how many huge pages it needs: "{answer}"', code="hugepage_error")


def memory_all_huge(limit: int, huge: int) -> HostError:
    """Huge pages are not counted by a memory limit, so they are taken off it: nothing is left."""
    return HostError(
        f"huge pages take {format_size(huge)} of the {format_size(limit)} that the server may have",
        code="memory_error",
    )


def not_a_host_level(name: str, typed: str, accepted: str) -> UsageError:
    """A level of another form."""
    return UsageError(f'"{name}" cannot be "{typed}"', f"it takes {accepted}")


def too_many_cpus(name: str, typed: str, there: int) -> UsageError:
    """More CPUs than this machine has, or than we may use."""
    return UsageError(
        f'"{name}" = {typed} needs more than the {there} CPUs that pgassay may use here',
        f"give {there} at most, or all; lscpu --extended lists them",
    )


def no_realtime(name: str, reason: str) -> UsageError:
    """The kernel, or the container, lets no program of ours go before others."""
    return UsageError(f'"{name}" cannot be realtime here: {reason}', f'use "{name}" = usual; containers need SYS_NICE')


def no_such_cpus(name: str, typed: str, missing: str) -> UsageError:
    """A list that names absent CPUs."""
    return UsageError(
        f'"{name}" = {typed}: this machine has no CPU {missing}, or pgassay may not use it',
        "taskset --cpu-list --pid $$ lists those that may be used",
    )


def cpus_gone(name: str, typed: str, there: int) -> HostError:
    """CPUs that were there before the run are offline now."""
    return HostError(f'"{name}" = {typed}: only {there} of these CPUs are online, see host.smt', code="no_cores")


def no_such_nodes(name: str, typed: str, there: str) -> UsageError:
    """A NUMA node that is absent, or has nothing of what is asked."""
    return UsageError(f'"{name}" = {typed}: this machine has no such NUMA node', f"it has: {there or 'none'}")


def no_binding(name: str, reason: str) -> UsageError:
    """The kernel, or the container, lets no program of ours choose its memory."""
    return UsageError(f'"{name}" must be all here: {reason.lower()}', "containers need SYS_NICE")


def held_by_another(name: str, typed: str, found: str) -> UsageError:
    """The lowest limit of all programs holds."""
    return UsageError(
        f'"{name}" cannot be {typed}: another program holds it at {found}',
        f"give {found} or less, or end what holds /dev/cpu_dma_latency open (tuned, for one)",
    )


def no_such_huge_page(name: str, typed: str, sizes: str) -> UsageError:
    """A size that this kernel does not have."""
    return UsageError(f'"{name}" = {typed}: this kernel has no huge pages of that size', f"it has: {sizes or 'none'}")


def more_memory_than_there_is(name: str, limit: str, total_bytes: int) -> UsageError:
    """A limit above the machine's memory limits nothing."""
    return UsageError(
        f'"{name}" = {limit} is more than this machine has ({format_size(total_bytes)})', "give less, or all"
    )


def no_reboot(reason: str) -> BenchError:
    """--reboot-between-blocks where it is not possible."""
    return BenchError(
        f"this machine cannot be rebooted between blocks: {reason}", "run without --reboot-between-blocks"
    )


def already_continuing(unit: Path) -> BenchError:
    """Only one study at a time continues by itself."""
    return BenchError(
        f'"{unit}" already continues another run after the next reboot', "let that run finish, or remove the unit"
    )


def unwritable_unit(text: str) -> BenchError:
    """A path that no unit file can hold."""
    return BenchError(f"a unit file cannot hold {text!r}")


NO_ROOT = "needs root"
NO_MEMORY_GROUP = "this machine has no control group controller for memory, of version 1 or 2"
NO_TRANSPARENT = "this kernel has no transparent huge pages"
NO_SIBLINGS = "this machine has no siblings of simultaneous multithreading that may be switched"
SIBLINGS_WOULD_STAY_AWAY = "control groups of cpuset, version 1, would not get the siblings back"
NO_IDLE_STATES = "this kernel leaves out no idle states: no /dev/cpu_dma_latency, or no cpuidle"
NO_NODES = "this kernel knows no NUMA nodes"
