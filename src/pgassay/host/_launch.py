"""Runs between fork and exec of every program that we start: `_launch.py PPID SIGNAL IDS CPUS GROUPS POLICY NODES …`.

It joins the control groups, keeps to the CPUs and the memory of the NUMA nodes and takes the scheduling policy that it
is given (all that the program starts inherits these), becomes the asked account, asks the kernel for a signal when its
parent dies (prctl(2), PR_SET_PDEATHSIG: must come after the change of account, which clears it), and becomes the
program. A little program of its own rather than `preexec_fn`, which is unsafe with threads. Imports nothing of pgassay;
`IDS` is `UID:GID:GROUP,…`, `POLICY` is `rr` for SCHED_RR at its lowest priority, the program follows `NODES`, and `-`
stands for nothing. SIGINT ends it as it would end the program: Python has an answer of its own, and may lose it here.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
NOT_RUN = 127
_MEMORY_POLICY = f"{__file__.rpartition('/host/')[0]}/bench/memory_policy.py"
"""Run by its path: nothing of pgassay is imported here."""


def main(arguments: list[str]) -> int:
    """Become the program; returns only when that fails."""
    parent, death_signal, ids, cpus, groups, policy, nodes, *command = arguments
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
        if nodes != "-":
            import runpy  # not for programs that may take memory anywhere: it takes milliseconds

            runpy.run_path(_MEMORY_POLICY)["bind_memory"](tuple(map(int, nodes.split(","))))
        if policy == "rr":
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        if ids != "-":
            uid, gid, groups = ids.split(":")
            os.setgroups([int(group) for group in groups.split(",") if group])
            os.setgid(int(gid))
            os.setuid(int(uid))
        if sys.platform == "linux" and ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0) != 0:
            print(f"{command[0]}: could not tie its life to its parent's", file=sys.stderr)
            return NOT_RUN
        if os.getppid() != int(parent):
            return NOT_RUN  # The parent died before we asked.
        os.execvpe(command[0], command, os.environ)
    except OSError as error:
        print(f"{command[0]}: could not be run: {error.strerror}", file=sys.stderr)
    return NOT_RUN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
