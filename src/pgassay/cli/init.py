"""`pgassay init --from DSN`: a study file with an existing server's non-default settings; it only reads that server.

The server under test is always a private one on this machine; what is taken over is the configuration.
"""

import argparse
import json
from pathlib import Path

from pgassay.cli.printing import SUCCESS
from pgassay.errors import UsageError

_HEAD = """# Made by pgassay init from the settings of a PostgreSQL {version} server.
# Change [factors] to what you want to know, then: pgassay run {name}

[study]
format   = 1
title    = "My server"
question = "Which table FILLFACTOR commits most small updates per second on this configuration?"

[factors]
"table.fillfactor" = [100, 90, 75]

[fixed]
"""
_TAIL = """
[load]
driver     = "pgbench"
script     = "simple-update"   # or a path to your own pgbench script; init = "schema.sql" loads your own tables
protocol   = "prepared"
scale      = 50
clients    = 4
jobs       = 2
duration   = "66s"
warmup     = "5s"

[responses]
primary = "tps"

[design]
baseline   = { "table.fillfactor" = 100 }
resolution = "5%"
blocks     = { min = 5, max = 20 }
budget     = "1h"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    connection = "connection string or URI of the server"
    add("--from", dest="dsn", metavar="DSN", required=True, help=connection)
    add("--out", type=Path, default=Path("study.toml"), help="file to write (default: study.toml)")
    add("--force", action="store_true", help="overwrite the file if it is there")


def run(arguments: argparse.Namespace) -> int:
    from pgassay.postgres.settings import inspect

    if arguments.out.exists() and not arguments.force:
        raise UsageError(
            f'"{arguments.out}" exists already', "name another file with --out, or overwrite it with --force"
        )
    found = inspect(arguments.dsn)
    arguments.out.write_text(study_text(arguments.out.name, found.version, found.settings, found.left_out), "utf-8")
    print(
        f"{arguments.out}: {len(found.settings)} settings of a PostgreSQL {found.version} server taken over,"
        f" {len(found.left_out)} left out"
    )
    return SUCCESS


def study_text(name: str, version: str, settings: dict[str, str], left_out: dict[str, str]) -> str:
    lines = [f'"server.{key}" = {json.dumps(value)}' for key, value in settings.items()]
    if left_out:
        lines += ["# left out, because they are specific to that server:"]
        lines += [f"#   {key} = {json.dumps(value)}" for key, value in left_out.items()]
    return _HEAD.format(version=version, name=name) + "\n".join(lines) + "\n" + _TAIL
