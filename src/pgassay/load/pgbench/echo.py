"""What pgbench says it ran, in the canonical form of the `load.*` levels, so that each can be read back.

pgbench runs no more threads than clients, and names a lone script by its title; both are put back into the words of the
levels where they agree, and left as pgbench says them where they do not.
"""

from pgassay.load.options import JOBS
from pgassay.load.pgbench.options import PgbenchOptions
from pgassay.load.pgbench.scripts import BUILTINS, Script, show_scripts
from pgassay.load.pgbench.summary import Summary

_MANY = "multiple scripts"


def read_back(said: Summary, options: PgbenchOptions) -> dict[str, str]:
    """`load.NAME` to what pgbench echoed."""
    told = {
        "load.clients": str(said.clients),
        "load.jobs": JOBS.show(options.jobs) if said.threads == options.threads else str(said.threads),
        "load.protocol": said.protocol,
        "load.script": _script(said),
    }
    if said.duration_s is not None:
        told["load.duration"] = f"{said.duration_s}s"
    if said.transactions_per_client is not None:
        told["load.transactions"] = str(said.transactions_per_client)
    if said.max_tries is not None:
        told["load.max_tries"] = str(said.max_tries)
    return told


def _script(said: Summary) -> str:
    names = {echo: name for name, echo in BUILTINS.items()}
    if said.transaction_type != _MANY:
        return names.get(said.transaction_type, said.transaction_type)
    return show_scripts(tuple(Script(names.get(each.name, each.name), each.weight) for each in said.scripts))
