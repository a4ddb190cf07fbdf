"""What adopting a level of `host.*` means on a server of one's own: the kernel's side and PostgreSQL's.

From PostgreSQL's manual ("Managing Kernel Resources", "Linux Huge Pages"), the kernel's (hugetlbpage, transhuge) and
systemd.resource-control(5). The recommendation holds for the settings that it was measured with.
"""

_NONE = ("none", "off")


def steps(name: str, typed: str) -> list[str]:
    """The steps; empty for any other factor."""
    if name == "host.huge_pages":
        return _huge_pages(typed)
    if name == "host.transparent_huge_pages":
        return [
            f"{name} = {typed}: echo {typed} > /sys/kernel/mm/transparent_hugepage/enabled, and"
            f" transparent_hugepage={typed} on the kernel's command line, so that it holds after a reboot"
        ]
    if name == "host.memory" and typed != "all":
        return [
            f"{name} = {typed}: a limit for the server and the page cache of what it reads: MemoryMax={_bytes(typed)}"
            " in the systemd unit (or a machine of that size)"
        ]
    if name == "host.cores" and typed != "all":
        return [f"{name} = {typed}: CPUAffinity= in the systemd unit, or taskset (or a machine with as many)"]
    return [f"{name} = {typed}: nothing to set"] if name in ("host.memory", "host.cores") else []


def _huge_pages(typed: str) -> list[str]:
    if typed in _NONE:
        return ["ALTER SYSTEM SET huge_pages = 'off'; restart the server"]
    return [
        "reserve the huge pages that the server needs (stopped, from PostgreSQL 15: postgres -D DIRECTORY -C"
        f" shared_memory_size_in_huge_pages says how many): vm.nr_hugepages, or hugepagesz={_bytes(typed)} hugepages=N"
        " on the kernel's command line, early, while memory lies together",
        f"ALTER SYSTEM SET huge_pages = 'on'; where {typed} is not the kernel's default size also huge_page_size ="
        f" '{typed}'; restart the server, which refuses to start if it does not get them",
    ]


def _bytes(typed: str) -> str:
    """systemd knows K, M, G and T, of 1024."""
    return typed.upper().removesuffix("B") if typed[-1:] in "Bb" else typed
