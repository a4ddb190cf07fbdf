"""`pgassay compare NAME=A NAME=B …`: levels of one factor (or of several, crossed) without a study file.

The first level named of each factor is its baseline; pgbench's short options mean what they mean there, and a name
without the namespace of a factor is a setting of the server: `work_mem` is `server.work_mem`.
"""

import argparse
from collections.abc import Mapping, Sequence

from pgassay.cli.parser import excluded
from pgassay.cli.run import add_bench_options, add_study_options, run_document, servers_of
from pgassay.errors import UsageError, near
from pgassay.study.document import COUNTED_LOAD, set_needs_value

PGBENCH = (
    ("-c", "--client", "clients"), ("-j", "--jobs", "jobs"), ("-T", "--time", "duration"), ("-s", "--scale", "scale"),
    ("-M", "--protocol", "protocol"), ("-R", "--rate", "rate"), ("-t", "--transactions", "transactions"),
    ("-f", "--file", "script"), ("-D", "--define", "variables"),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "levels_given",
        nargs="*",
        metavar="NAME=VALUE",
        help="levels to compare; the first is the baseline; a setting needs no prefix (work_mem=4MB); none is needed"
        " where servers are compared (--server A=DSN --server B=DSN)",
    )
    add_load_options(parser)
    add_study_options(parser)
    add_bench_options(parser, server=True)


def add_load_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--load", default="pgbench", metavar="DRIVER", help="the load (default: pgbench)")
    for short, long, option in PGBENCH:
        add(
            short,
            long,
            dest=f"load_{option}",
            metavar="X",
            action="append" if option == "variables" else "store",
            help=f"load.{option}, as for pgbench",
        )
    add("--init", dest="load_init", metavar="FILE", help="load.init: your own schema and data")
    script = parser.add_mutually_exclusive_group()
    script.add_argument("-S", "--select-only", action="store_true", help="the script select-only")
    script.add_argument("-N", "--skip-some-updates", action="store_true", help="the script simple-update (default)")


def run(arguments: argparse.Namespace) -> int:
    arguments = with_full_names(arguments)
    return run_document("compare", document_of(arguments), arguments)


def with_full_names(arguments: argparse.Namespace) -> argparse.Namespace:
    """The arguments with `server.` before every bare name among the levels, `--set` and `--levels`."""
    lists = {option: [*map(_full, getattr(arguments, option))] for option in ("levels_given", "set", "levels")}
    return argparse.Namespace(**{**vars(arguments), **lists})


def _full(text: str) -> str:
    from pgassay.lab.catalogue import every_factor
    from pgassay.study.levels import full_name

    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        return text
    known = every_factor().names() if "." in name else ()
    return f"{full_name(name.strip(), known)}={value.strip()}"


def document_of(arguments: argparse.Namespace) -> dict[str, object]:
    from pgassay.design.stopping import ENOUGH
    from pgassay.load import drivers

    servers = servers_of(arguments.server)
    factors: dict[str, list[str]] = {"postgres.server": [*servers]} if len(servers) > 1 else {}
    for text in arguments.levels_given:
        name, equals, value = text.partition("=")
        if not equals:
            raise set_needs_value(text, "compare")
        factors.setdefault(name.strip(), []).append(value.strip())
    if not arguments.levels and all(len(values) == 1 for values in factors.values()):
        raise _nothing_compared(arguments.levels_given)
    if arguments.count and arguments.load_duration is not None:
        raise UsageError("--count counts transactions, not seconds", "give their number with -t instead of -T")
    load = load_of(arguments, {"scale": "5", **COUNTED_LOAD} if arguments.count else {}, factors)
    if arguments.count:
        load["count"] = "on"
    named = " against ".join(f"{name} {', '.join(values)}" for name, values in factors.items())
    kinds = len(next(iter(servers.values()), ()))
    measured = {**MEASURED, "design": {**MEASURED["design"], "hosts": min(kinds, ENOUGH)}} if kinds > 1 else MEASURED
    own = [each.name for driver in drivers.known() if driver.name == arguments.load for each in driver.responses]
    if own and _P99 not in own:
        measured = {**measured, "responses": {**MEASURED["responses"], "secondary": ["database_bytes"]}}
    return {
        "study": {"format": 1, "title": f"Comparison of {named}", "question": f"Which is better: {named}?"},
        "factors": factors,
        "load": load,
        **measured,
    }


def load_of(
    arguments: argparse.Namespace, usual: Mapping[str, str], factors: Mapping[str, object] | None = None
) -> dict[str, str]:
    """The load that the command line asks for; `usual` goes before what is usual for compare, `factors` are no part."""
    from pgassay.load import drivers

    varied = factors or {}
    # Of pgbench's options here, those that the asked driver knows, too.
    known = {driver.name: driver for driver in drivers.known()}.get(arguments.load)
    load = {"driver": arguments.load}
    load |= {option: value for option, value in USUAL.items() if known is None or known.takes(option)}
    if arguments.load == drivers.DEFAULT or arguments.select_only or arguments.skip_some_updates:
        load["script"] = "select-only" if arguments.select_only else "simple-update"
    if arguments.load_init is not None:
        load.pop("scale", None)  # of pgbench's own tables, which these data need not have
    load |= {option: value for option, value in usual.items() if option in load}
    for option in (*(option for _, _, option in PGBENCH), "init"):
        value = getattr(arguments, f"load_{option}")
        if value is not None:
            load[option] = "\n".join(value) if isinstance(value, list) else value
    _refuse_contradictions(arguments, varied)
    if "transactions" in load or "load.transactions" in varied:
        load.pop("duration")
    return {option: value for option, value in load.items() if f"load.{option}" not in varied}


_P99 = "latency_p99_ms"
MEASURED: Mapping[str, Mapping[str, object]] = {
    "responses": {"primary": "tps", "secondary": [_P99, "database_bytes"]},
    "design": {"resolution": "5%", "precision": "4%", "blocks": {"min": 5, "max": 20}},
}
USUAL: Mapping[str, str] = {
    "protocol": "prepared", "scale": "50", "clients": "4", "jobs": "2", "duration": "10s", "warmup": "2s",
    "checkpoint": "wal",
}  # fmt: skip
"""The load of `compare` and `calibrate` where nothing else was asked for."""


def _refuse_contradictions(arguments: argparse.Namespace, factors: Mapping[str, object]) -> None:
    """Of some options one would silently win; pgbench refuses -T with -t too."""
    given = {option: short for short, _, option in PGBENCH if getattr(arguments, f"load_{option}") is not None}
    if arguments.select_only or arguments.skip_some_updates:
        if "script" in given:
            raise excluded("-f", "-S" if arguments.select_only else "-N")
        given["script"] = "-S" if arguments.select_only else "-N"
    if {"duration", "transactions"} <= given.keys():
        raise excluded("-T", "-t")
    for option, short in given.items():
        if f"load.{option}" in factors:
            raise excluded(short, f"load.{option}")


def _nothing_compared(levels: Sequence[str]) -> UsageError:
    """`compare` with one level of each factor; two names that are nearly one are a typo, of either."""
    if not levels:
        return UsageError("nothing is compared", "name two levels, the baseline first: pgassay compare NAME=A NAME=B")
    first, *others = levels
    name = first.partition("=")[0]
    for other in others:
        found = other.partition("=")[0]
        if near(found, [name], 0.8):
            return UsageError(
                f'"{name}" and "{found}" have one level each', "one of the two is mistyped: give both levels one name"
            )
    return UsageError(
        f'"{first}" alone varies nothing',
        "name two levels of it or more, the baseline first: pgassay compare NAME=VALUE NAME=OTHER",
    )
