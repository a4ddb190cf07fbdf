"""The host stage of a trial: after the clone, before the server's start; given back once the server is gone.

Factors change the machine through `Hosting.changes` only, so that every change is undone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pgassay.errors import UsageError
from pgassay.host import cpus
from pgassay.host.factors import NO_ROOT
from pgassay.interfaces.errors import ClusterError
from pgassay.interfaces.factor import Stage
from pgassay.interfaces.hosting import Hosting
from pgassay.interfaces.server import Server
from pgassay.lab import checks
from pgassay.lab.arms import ResolvedArm
from pgassay.lab.catalogue import FactorCatalogue
from pgassay.load.options import REST
from pgassay.study.model import ALTERNATE
from pgassay.study.units import format_size, parse_memory, split_quantity

CORES = "host.cores"


@contextmanager
def hosted(arm: ResolvedArm, clone: Path) -> Iterator[Hosting]:
    """Apply the host factors for a server on `clone`; on every way out they are given back. Raises `HostError`."""
    environment, settings = arm.environment, arm.settings
    hosting = Hosting(
        changes=environment.host,
        ask=lambda name: arm.installation.setting(clone, settings, name),
        peak_bytes=lambda: _peak_bytes(arm, clone),
        major=arm.installation.version.major,
    )
    try:
        for bound in sorted(arm.at(Stage.HOST), key=lambda each: each.factor.rank):
            bound.factor.apply(bound.name, bound.level, hosting)
        if hosting.cold:
            environment.caches.make_cold(clone)
        yield hosting
    finally:
        with environment.held():
            environment.host.give_back()


def start(hosting: Hosting, arm: ResolvedArm, clone: Path) -> tuple[Server, str]:
    """Start the server as soon as its huge pages are there; returns it and what the record says of them, if anything.

    Any program may take free huge pages, and every PostgreSQL asks for some by default (`huge_pages = try`): what
    another one took in that moment is obtained again, once. Raises `ClusterError`, `HostError`.
    """
    settings, sockets = arm.settings, arm.environment.socket_directory
    client = arm.environment.client(arm.setup.load.host)
    if client is not None:
        client.require()
    listening = None if client is None else client.listening
    if listening is not None and arm.study.design.pairing == ALTERNATE:
        listening = replace(listening, ports=len(arm.study.treatments))  # their servers live at once
    hosting.obtain()
    placement = hosting.placement
    if arm.setup.load.count:
        placement = replace(placement, under=arm.instrument.begin())
    try:
        return arm.installation.start(clone, settings, sockets, placement, listening=listening), ""
    except ClusterError as error:
        if checks.code_of_start(error.message, settings) != checks.HUGE_PAGES_MISSING:
            raise
    taken = hosting.obtain()
    found = "the server did not get its huge pages at once, although they were free"
    if taken:
        found = f"other programs took {taken} huge pages before the server started; as many were obtained again"
    try:
        return arm.installation.start(clone, settings, sockets, placement, listening=listening), found
    except ClusterError as error:
        raise ClusterError(f"{error.message} (before, {found})", error.hint) from None


def _peak_bytes(arm: ResolvedArm, clone: Path) -> int:
    plain = {name: value for name, value in arm.settings.items() if name not in ("huge_pages", "huge_page_size")}
    environment = arm.environment
    server = arm.installation.start(clone, {**plain, "huge_pages": "off"}, environment.socket_directory)
    try:
        return environment.peak_bytes(server.postmaster_pid)
    finally:
        with environment.held():
            server.stop()


def unavailable(names: Iterable[str], catalogue: FactorCatalogue) -> dict[str, str]:
    """The host factors among `names` that are not available on this machine, with the reason."""
    found = {name: catalogue.find(name) for name in names}
    return {name: reason for name, each in found.items() if each and (reason := each.unavailable(name))}


def require(arm: ResolvedArm) -> None:
    """Name to the environment's `missing` the host factors, levels and memory that this machine lacks.

    Raises `UsageError` for shared_buffers beyond host.memory.
    """
    missing = arm.environment.missing
    bounds = arm.at(Stage.HOST)
    absent = unavailable((each.name for each in bounds), arm.environment.catalogue)
    if absent:
        missing.name("host factors", host_factors_unavailable(absent))
    for each in bounds:
        if each.name not in absent:
            try:
                each.factor.require_here(each.name, each.level)
            except UsageError as error:
                missing.name(f"{each.name}={each.level.canonical}", error)
    typed = arm.setup.settings.get("shared_buffers", "")
    quantity = split_quantity(typed)
    if quantity is None or not quantity[1]:
        return
    wanted, limit = parse_memory(typed), arm.setup.memory_bytes
    if limit is not None and wanted >= limit:
        raise _buffers_beyond(typed, f"host.memory = {format_size(limit)}")
    if wanted >= arm.environment.memory_bytes:
        whole = f"the memory of this machine, {format_size(arm.environment.memory_bytes)}"
        missing.name("memory for shared_buffers", _buffers_beyond(typed, whole))


def _buffers_beyond(typed: str, limit: str) -> UsageError:
    return UsageError(
        f"server.shared_buffers = {typed} does not fit in {limit}",
        "use less (--set or --levels server.shared_buffers=…) or allow more memory (--set host.memory=…)",
    )


def require_rest(arms: Sequence[ResolvedArm]) -> None:
    """Refuse `load.cores = rest` where no arm that asks for it leaves any CPU; that of single arms is an outcome.

    Where `host.cores` is given, another machine may have more: the environment's `missing` hears of it. A server that
    is not ours runs where its owner lets it.
    """
    asking = [arm for arm in arms if arm.setup.load.to_levels().get("cores") == REST and arm.environment.server.ours]
    servers = [arm.study.levels_of(arm.arm).get(CORES) for arm in asking]
    if not asking or any(
        level is not None
        and cpus.usable()
        - set(cpus.choose(cpus.parse_selection(level.canonical) or cpus.Selection(), cpus.cores(cpus.usable())))
        for level in servers
    ):
        return
    if all(level is None or level.canonical == cpus.ALL for level in servers):
        raise UsageError(
            '"load.cores" = rest leaves the load no CPU: every server of this study may use all of them',
            "say which ones the server has with host.cores: --set host.cores=1 leaves the others to the load",
        )
    error = UsageError(
        '"load.cores" = rest leaves the load no CPU: "host.cores" takes all '
        f"{len(cpus.usable())} of this machine everywhere",
        "give the server fewer with host.cores, or leave load.cores out",
    )
    asking[0].environment.missing.name(f"rest for {CORES}", error)


def host_factors_unavailable(reasons: Mapping[str, str]) -> UsageError:
    """For host factors that are not available here, by name with the reason; all of them in one message."""
    named = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    hint = "leave them out with --without-host-factors"
    return UsageError(
        f"some of the study's factors are not available on this machine: {named}",
        f"run as root, or {hint}" if NO_ROOT in reasons.values() else hint,
    )


def host_factors_left_out(reasons: Mapping[str, str]) -> str:
    named = "; ".join(f"{name} ({reason})" for name, reason in reasons.items())
    return f"host factors left out, because this machine does not support them: {named}"
