"""Runs between fork and exec of every program that we start:
`_launch.py PPID SIGNAL IDS CPUS GROUPS RIGHTS …`.

It joins the control groups and keeps to the CPUs that it is given (all that the program starts inherits these), becomes
the asked account, asks the kernel for a signal when its parent dies (prctl(2), PR_SET_PDEATHSIG: must come after the
change of account, which clears it), and becomes the program. A little program of its own rather than `preexec_fn`,
which is unsafe with threads. Imports nothing of pgassay; `IDS` is `UID:GID:GROUP,…`, `RIGHTS` is `kept` for a program
that keeps ours, the program follows it, and `-` stands for nothing. No other program gains a right by what it executes
(prctl(2), PR_SET_NO_NEW_PRIVS), and one of another account has no capability left. SIGINT ends it as it would end the
program: Python has an answer of its own, and may lose it here.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
CAPABILITIES_MAX = 64
CAPABILITY_VERSION_3 = 0x20080522
PRIVATE_UMASK = 0o077
NOT_RUN = 127


def main(arguments: list[str]) -> int:
    """Become the program; returns only when that fails."""
    parent, death_signal, ids, cpus, groups, rights, *command = arguments
    # A shell that put us into the background let SIGINT and SIGQUIT be ignored, and a server that does not have its own
    # answers yet would outlive us. The runner holds SIGINT back while Python starts here.
    for number in {signal.SIGINT, int(death_signal)} - {0}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        for group in groups.split(":") if groups != "-" else ():
            descriptor = os.open(f"{group}/cgroup.procs", os.O_WRONLY)
            os.write(descriptor, str(os.getpid()).encode())
            os.close(descriptor)
        if cpus != "-":
            os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})
        opened = None
        if ids != "-":
            opened = os.open(command[0], os.O_RDONLY | os.O_CLOEXEC)
            _become(*ids.split(":"))
        if sys.platform == "linux":
            kernel = ctypes.CDLL(None)
            if rights != "kept" and kernel.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
                print(f"{command[0]}: could not be kept from gaining rights", file=sys.stderr)
                return NOT_RUN
            if kernel.prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0) != 0:
                print(f"{command[0]}: could not tie its life to its parent's", file=sys.stderr)
                return NOT_RUN
        if os.getppid() != int(parent):
            return NOT_RUN  # The parent died before we asked.
        try:
            os.execve(command[0], command, os.environ)
        except PermissionError:
            if opened is None:
                raise
            os.execve(opened, command, os.environ)  # a program of ours, in a directory that its account cannot enter
    except OSError as error:
        print(f"{command[0]}: could not be run: {error.strerror}", file=sys.stderr)
    return NOT_RUN


def _become(uid: str, gid: str, groups: str) -> None:
    """The account, with every set of capabilities empty (capabilities(7))."""
    if sys.platform == "linux":
        for capability in range(CAPABILITIES_MAX):  # those that this kernel does not know are none
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    os.setgroups([int(group) for group in groups.split(",") if group])
    os.setgid(int(gid))
    os.setuid(int(uid))
    if sys.platform == "linux":
        ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)())
    os.umask(PRIVATE_UMASK)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
