"""`pgassay studies`: the built-in studies, a line each; with a name, the study file itself.

`--factors` lists what can be varied instead.
"""

import argparse
import json

from pgassay.cli.parser import add_options
from pgassay.cli.printing import SUCCESS
from pgassay.study import builtin, document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", nargs="?", help="print this built-in study's file")
    parser.add_argument("--factors", action="store_true", help="list every factor: stage, meaning, levels, default")
    add_options(parser, "--json")


def run(arguments: argparse.Namespace) -> int:
    if arguments.factors:
        _print_factors(as_json=arguments.json)
        return SUCCESS
    if arguments.study:
        print(builtin.find(arguments.study)[1], end="")
        return SUCCESS
    rows = []
    for name in builtin.names():
        found = document.read(name, builtin.find(name)[1])
        head = found["study"]
        sizes = ["default", *(size for size in document.SIZES if size in found)]
        rows.append({"name": name, "title": head["title"], "question": head["question"], "sizes": sizes})
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return SUCCESS
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        print(f"{row['name']:<{width}}  {row['question']}")
    return SUCCESS


def _print_factors(*, as_json: bool) -> None:
    from pgassay.lab.catalogue import every_factor

    factors = every_factor().all()
    if as_json:
        keys = ("stage", "summary", "accepts", "unit", "default")
        plain = [{"name": each.pattern, **{key: getattr(each, key) for key in keys}} for each in factors]
        print(json.dumps(plain, indent=2))
        return
    width = max(len(factor.pattern) for factor in factors)
    for factor in factors:
        print(f"{factor.pattern:<{width}}  {factor.stage:<6}  {factor.summary}")
        details = [f"takes {factor.accepts}"] if factor.accepts else []
        details += [f"in {factor.unit}"] if factor.unit else []
        details += [f"default {factor.default}"] if factor.default else []
        if details:
            print(f"{'':<{width}}          {'; '.join(details)}")
