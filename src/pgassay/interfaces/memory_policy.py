"""From which NUMA nodes a thread and all that it starts take their memory: set_mempolicy(2), MPOL_BIND.

Imports nothing of pgassay: `host/_launch.py` runs it by its path, between fork and exec.
"""

import ctypes
import errno
import os

_MPOL_DEFAULT, _MPOL_BIND = 0, 2
_SET_MEMPOLICY = {"x86_64": 238, "ppc64le": 261, "s390x": 270, "aarch64": 237, "riscv64": 237, "loongarch64": 237}
"""The number of the call, which the C library does not offer."""
_NODES_MAX = 1024


def bind_memory(nodes: "tuple[int, ...]") -> None:
    """Take memory from these NUMA nodes alone from now on, or from all of them; raises `OSError`."""
    number = _SET_MEMPOLICY.get(os.uname().machine)
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    mask = (ctypes.c_ulong * (_NODES_MAX // 8 // ctypes.sizeof(ctypes.c_ulong)))()
    bits = 8 * ctypes.sizeof(ctypes.c_ulong)
    for node in nodes:
        mask[node // bits] |= 1 << node % bits
    asked = (_MPOL_BIND, mask, _NODES_MAX) if nodes else (_MPOL_DEFAULT, None, 0)
    if ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *asked) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def try_binding(nodes: "tuple[int, ...]") -> None:
    """Bind this thread for a moment: containers and kernels may refuse even root; raises `OSError`."""
    bind_memory(nodes)
    bind_memory(())
