"""The options that `import` and `lint` share: what the user says about files of other tools."""

import argparse

from pgassay.errors import UsageError
from pgassay.importing.reader import ALL, Options, parse_given, parse_pattern, parse_roles
from pgassay.study.responses import Better


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add them to a command's parser."""
    add = parser.add_argument
    add("--columns", metavar="ROLE=COLUMN,…", action="append", default=[],
        help=f"what columns and fields mean; roles: {', '.join(ALL)}")  # fmt: skip
    add("--header", metavar="A;B;C", default="", help="names for the columns of a table without a header line")
    add("--pattern", metavar="PATH", help="fields in the path, as in 'pg-{page_kB}/run-{run}/pgbench.log'")
    add("--treatment", metavar="NAME=VALUE[:FILES]", action="append", default=[],
        help="a level of every file, or of those that match FILES")  # fmt: skip
    add("--where", metavar="NAME=VALUE", action="append", default=[], help="take only runs whose field has this value")
    add("--better", choices=("higher", "lower"), help="which way a column of unknown name is better")
    add("--log-has", metavar="WHAT", choices=("lag", "retries"), action="append", default=[],
        help="extra columns of a pgbench log without its output: lag (--rate), retries (--max-tries)")  # fmt: skip


def parse_options(arguments: argparse.Namespace) -> Options:
    """What these options say about the files; raises `UsageError` for one that cannot be read."""
    return Options(
        roles=parse_roles(arguments.columns),
        header=arguments.header,
        pattern=parse_pattern(arguments.pattern) if arguments.pattern else None,
        given=tuple(map(parse_given, arguments.treatment)),
        where=tuple(_filter(text) for text in arguments.where),
        better=Better(arguments.better) if arguments.better else None,
        log_has=tuple(arguments.log_has),
    )


def _filter(text: str) -> tuple[str, str]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name:
        raise UsageError(f'--where wants NAME=VALUE, not "{text}"', "for example --where mode=rw")
    return name, value
