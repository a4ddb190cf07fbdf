"""Every message of the host room that a user may see: lower case, no full stop, with a hint where one helps."""

from pathlib import Path

from pgassay.bench.errors import HostError
from pgassay.errors import UsageError


def host_refused(path: Path, value: str, error: OSError) -> HostError:
    """The kernel refuses a value."""
    return HostError(f'could not write {value} to "{path}": {(error.strerror or str(error)).lower()}')


def not_a_host_level(name: str, typed: str, accepted: str) -> UsageError:
    """A level of another form."""
    return UsageError(f'"{name}" cannot be "{typed}"', f"it takes {accepted}")


NO_ROOT = "needs root"
NO_MEMORY_GROUP = "this machine has no control group controller for memory, of version 1 or 2"
NO_TRANSPARENT = "this kernel has no transparent huge pages"
NO_SIBLINGS = "this machine has no siblings of simultaneous multithreading that may be switched"
SIBLINGS_WOULD_STAY_AWAY = "control groups of cpuset, version 1, would not get the siblings back"
NO_IDLE_STATES = "this kernel leaves out no idle states: no /dev/cpu_dma_latency, or no cpuidle"
NO_NODES = "this kernel knows no NUMA nodes"
