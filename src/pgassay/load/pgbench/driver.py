"""A load by the real pgbench: prepare, run, read what it says.

`run` never raises for what the load does to the server: an abort, failed transactions, a dead server or a summary that
never came are problems of the result, under a code each.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from pgassay import untrusted
from pgassay.errors import PgassayError, UsageError
from pgassay.interfaces.errors import ClientLostError, LoadError, QueryError, WrittenWronglyError
from pgassay.interfaces.load import SEEDS_OF_BLOCK, BaseLoad, Driver, LedgerState, LoadResult, cannot_gate
from pgassay.interfaces.server import Server
from pgassay.load import player, program, responses
from pgassay.load import responses as shared
from pgassay.load.pgbench import data, output
from pgassay.load.pgbench.options import (
    FILL,
    LEDGER,
    LEDGER_TABLE,
    MAKE,
    MAX_TRIES_SINCE,
    TURN,
    TURNS,
    PgbenchOptions,
    Script,
    Statement,
    check_scripts,
    check_variables,
    check_whole,
    in_proportion,
    init_command,
    missing_program,
    queries,
    random_seed,
    run_command,
    show_scripts,
)
from pgassay.load.player import PlayedLoad, PlayedScript, Player

SOURCE = "pgbench"
_TRIED = "pgassay_names"
"""The prepared statement by which names are looked up."""
_NAMES = ("42P01", "42703", "3F000")
"""A table, a column, a schema that there is not (manual, "PostgreSQL Error Codes")."""
_CERTAIN = ("42601", "42704", "42883")
"""Syntax, types and functions: certain only without parameters, whose types PREPARE has to guess."""
_SCANS = {
    "Seq Scan": "enable_seqscan",
    "Bitmap Heap Scan": "enable_bitmapscan",
    "Index Scan": "enable_indexscan",
    "Index Only Scan": "enable_indexonlyscan",
}
"""Settings that keep a scan out of a plan where there is another way (manual, "Query Planning")."""


class PgbenchLoad(BaseLoad[PgbenchOptions]):
    responses = output.RESPONSES

    @property
    def _program(self) -> Path:
        return self.tools.bindir / "pgbench"

    @cached_property
    def version(self) -> int:
        """The major version of the program, which may differ from the server's; raises `UsageError`, `LoadError`."""
        if not self._program.exists():
            raise missing_program(self._program, "which runs the load")
        text = self.tools.runner.run([str(self._program), "--version"]).stdout
        match = re.search(r"\(PostgreSQL\) (\d+)", text)
        if match is None:
            raise LoadError(f'"{self._program}" does not say which version it is: "{text.strip()[:80]}"')
        return int(match[1])

    def check(self) -> None:
        options = self.options
        check_scripts(options.scripts)
        check_variables(options)
        if options.count and len(options.scripts) > 1:
            check_whole(options.scripts)
        program.check(options.cores, options.host)
        if options.max_tries > 1 and self.version < MAX_TRIES_SINCE:
            raise UsageError(f'"load.max_tries" needs pgbench {MAX_TRIES_SINCE} or later, this is {self.version}')
        if options.init is None:
            return
        data.require_own(self.tools.bindir, options.init)
        if options.age:
            raise UsageError(
                '"load.age" updates pgbench\'s own tables, not those of "load.init"', "age the data in the init file"
            )
        for name, value in (("row_bytes", options.row_bytes), ("row_storage", options.row_storage)):
            if value is not None:
                raise UsageError(
                    f'"load.{name}" changes pgbench\'s own table, not those of "load.init"',
                    "define wider rows in the init file",
                )

    def data_key(self) -> Mapping[str, str]:
        """The scale, age and width of the rows; for the user's own data the hash of their file alone."""
        options = self.options
        if options.init is not None:
            return {"init": self.tools.hashes.sha256(options.init)}
        width = {"row_bytes": str(options.row_bytes), "row_storage": str(options.row_storage)}
        wide = {name: text for name, text in width.items() if text != "None"}
        return {"scale": str(options.scale), "age": str(options.age), **wide}

    def create(self, server: Server) -> None:
        options, endpoint = self.options, server.endpoint
        if options.init is None:
            data.run(self.tools.runner, endpoint, init_command(self._program, endpoint, options.scale, MAKE))
            data.widen(server, options)
        else:
            data.create_own(self.tools.bindir, self.tools.runner, endpoint, options.init)

    def fill(self, server: Server) -> None:
        options, endpoint = self.options, server.endpoint
        if options.init is None:
            data.run(self.tools.runner, endpoint, init_command(self._program, endpoint, options.scale, FILL))
        else:
            data.fill_own(self.tools.bindir, self.tools.runner, endpoint, options.init)
        server.execute("VACUUM (ANALYZE)")

    def age(self, server: Server) -> None:
        if self.options.age:
            data.age(server, self.options.scale, self.options.age)

    def require_names(self, server: Server) -> None:
        """Prepare each query of scripts that are files, where no script may make the names that it uses."""
        own = [each for each in self.options.scripts if not each.builtin and each.name != LEDGER]
        found = [(each, queries(untrusted.any_text(each.path))) for each in own]
        for script, statements in found if all(each is not None for _, each in found) else ():
            for statement in statements or ():
                try:
                    server.execute(f"PREPARE {_TRIED} AS {statement.sql}")
                except WrittenWronglyError as failure:
                    if failure.sqlstate in _NAMES or (failure.sqlstate in _CERTAIN and not statement.variables):
                        raise UsageError(
                            f'script "{script.path}" line {statement.line}: {failure.said}',
                            failure.hint or "its names are looked up in the data that were loaded",
                        ) from None
                except QueryError:
                    continue  # whatever is wrong, a trial shows it
                else:
                    server.execute(f"DEALLOCATE {_TRIED}")

    def verify(self, server: Server) -> Mapping[str, str]:
        """A scan that `enable_… = off` was to keep out, in a plan of a script that is a file.

        Only where two of these or more are set, as for a plan by force: one alone may leave no other way.
        Asked after the window, since EXPLAIN reads what a window that begins cold has to read.
        """
        own = [each for each in self.options.scripts if not each.builtin]
        if not own:
            return {}
        try:
            named = server.query(
                "SELECT name, setting FROM pg_settings WHERE name = ANY (%s) AND source <> 'default'",
                [[*_SCANS.values()]],
            )
            off = {name for name, setting in named if setting == "off"}
            if not off or len(named) < 2:
                return {}
            plans = [
                plan
                for script in own
                for statement in queries(untrusted.any_text(script.path)) or ()
                for plan in _nodes(_explained(server, statement))
            ]
        except QueryError:  # whatever is wrong with a statement, the window showed it
            return {}
        wrong = [
            f"a {each['Node Type']} of {each['Relation Name']} although {_SCANS[each['Node Type']]} = off"
            for each in plans
            if _SCANS.get(each["Node Type"]) in off
        ]
        return {"another_plan": "; ".join(dict.fromkeys(wrong))} if wrong else {}

    def keep_inputs(self, output: Path) -> None:
        """Each script that is a file, with its mode: one that is secret stays so."""
        for number, script in enumerate(self.options.scripts, start=1):
            if not script.builtin and script.path.is_file():
                shutil.copy(script.path, output / f"script_{number}_{script.path.name}")

    def run(self, server: Server, folder: Path, seed: int) -> LoadResult:
        options = self.options
        folder.mkdir(parents=True, exist_ok=True)
        self.keep_inputs(folder)
        if options.count and len(options.scripts) > 1:
            options = self._in_proportion(server, folder / "scripts.sql", seed)
        prefix = folder / f"{SOURCE}_log"
        if options.writes_ledger:
            server.execute(LEDGER_TABLE)
        arguments = run_command(
            self._program, server.client_endpoint, options, version=self.version, seed=seed, log_prefix=prefix
        )
        files = [each.path for each in options.scripts if not each.builtin]
        run = program.run(self.tools, server, options, arguments, folder, SOURCE, options.timed_s, files=files)
        done, began, ended = run.done, run.began, run.ended
        there = began if done.elsewhere is None else (began[0], done.elsewhere.began_wall_ns)
        problems = run.problems | output.problems_of_status(done)
        found: dict[str, float | None] = {}
        read_back: dict[str, str] = {}
        processed = 0
        logged = output.read_log(prefix, options, there[1])
        problems |= logged.problems
        try:
            summary = output.parse_summary(done.stdout)
        except LoadError as error:
            problems.setdefault("no_summary", error.message)
        else:
            found, processed = output.of_summary(summary), summary.processed
            read_back = output.read_back(summary, options)
            if options is not self.options and read_back["load.script"] == show_scripts(options.scripts):
                # pgbench says that it played ours, in which all of them are
                read_back["load.script"] = show_scripts(self.options.scripts)
            problems |= output.problems_of_summary(summary)
            if done.status == 0 and logged.log is not None:
                problems |= output.problems_of_log(summary, logged.count)
        problems = problems or program.short(SOURCE, options.timed_s, ended[0] - began[0])
        output.put_away(prefix, folder / responses.SKETCHES_FILE, logged, keep=options.keep_log or options.cuts > 0)
        series = output.series(logged, output.parse_progress(done.stderr), SOURCE, there)
        if offset_ns := began[1] - there[1]:  # the log has the wall clock of the host that pgbench ran on
            series = tuple(replace(each, wall_ns=each.wall_ns + offset_ns) for each in series)
        return LoadResult(
            status=done.status,
            began=began,
            ended=ended,
            transactions=processed or logged.count,
            responses=shared.complete(output.RESPONSES, {**found, **logged.latencies}),
            series=series,
            problems=problems,
            read_back=read_back,
            elsewhere=done.elsewhere,
        )

    def _in_proportion(self, server: Server, path: Path, seed: int) -> PgbenchOptions:
        """The options with one script, written to `path`, that plays all of them: a count is the difference of two
        plays, so the longer one must begin with the scripts of the shorter one."""
        options = self.options
        texts = [self._text(each) if each.builtin else untrusted.any_text(each.path) for each in options.scripts]
        path.touch(mode=0o600)  # a script may be secret
        together = in_proportion(list(zip(options.scripts, texts, strict=True)))
        path.write_text(together, "utf-8", "surrogateescape")
        own = {"sequence": "0"} if options.writes_ledger else {}
        variables = {**own, **dict(options.variables or ()), TURN: str(Random(seed // SEEDS_OF_BLOCK).randrange(TURNS))}
        return replace(
            options,
            scripts=(Script(str(path.absolute())),),
            variables=tuple(variables.items()),
            scale=self._scale(server),
        )

    def _scale(self, server: Server) -> int:
        """What :scale means: with a built-in script pgbench counts branches."""
        if self.options.custom:
            return self.options.scale
        ((branches,),) = server.query("SELECT count(*) FROM pgbench_branches")
        return int(branches)

    def ledger_state(self, server: Server, seed: int, since: LedgerState | None = None) -> LedgerState:
        return data.ledger_state(server, random_seed(seed), self.options.clients, since)

    def broken(self, server: Server) -> Mapping[str, str]:
        """The sums of pgbench's own scripts, where only they work on data that were not aged."""
        names = {script.name for script in self.options.scripts}
        return {} if self.options.age or self.options.init else data.unequal_sums(server, names)

    def acknowledged(self, output: Path) -> Mapping[int, Sequence[tuple[int, bool]]]:
        return data.read_ledger(output, f"{SOURCE}_log")

    @property
    def ungated(self) -> str | None:
        """What the player says of the scripts, or which options only pgbench keeps, or that a host has no player."""
        if self.options.rate_tps is not None and self.options.latency_limit_ms is not None:
            why = "with both load.rate and load.latency_limit it skips transactions that are late already"
            return f'the load "{self.name}" cannot be played in slices: {why}'
        try:
            player.check(self.played(self.options.scale, 0), self.tools.runner)
            if self.tools.player_host is not None:
                self.tools.player_host.require_player()
        except ClientLostError:
            raise
        except PgassayError as error:
            return f'the load "{self.name}" cannot be played in slices: {error.message}'
        return None

    def gate(self, server: Server, seed: int, *, paired: bool = False) -> Player:
        """Our own player with the same scripts and options; raises `UsageError` for what it does not play."""
        refused = self.ungated
        if refused is not None:
            raise cannot_gate(refused)
        if program.problem(self.options.cores, server):
            raise LoadError('the server may use every CPU, so "load.cores" = rest leaves none', 'set "host.cores"')
        played = self.played(self._scale(server), seed)
        place = program.place(self.options.cores, server)
        if paired and self.tools.player_host is None:  # elsewhere a client shares no CPU with its backend
            played = replace(played, pair_on=program.pairs(place, server, played.clients, played.threads))
        tools = self.tools
        return Player(played, server.client_endpoint, tools.runner, tools.clock, place, tools.player_host)

    def played(self, scale: int, seed: int) -> PlayedLoad:
        """What the player is asked; `scale` is the value of :scale. Raises `UsageError` for a missing script."""
        check_scripts(self.options.scripts)
        return PlayedLoad(
            scripts=tuple(PlayedScript(each.name, self._text(each), each.weight) for each in self.options.scripts),
            clients=self.options.clients,
            threads=self.options.threads,
            protocol=self.options.protocol,
            seed=seed,
            variables={"scale": str(scale), **dict(self.options.variables or ())},
            rate_tps=self.options.rate_tps,
            max_tries=self.options.max_tries,
            latency_limit_ms=self.options.latency_limit_ms,
        )

    def _text(self, script: Script) -> str:
        if not script.builtin:
            try:
                return untrusted.read_text(script.path)
            except ValueError as failure:  # pgbench itself takes any bytes
                raise UsageError(f'script "{script.path}": {failure}, which only pgbench itself plays') from None
        if script.name not in self._texts:
            shown = self.tools.runner.run([str(self._program), f"--show-script={script.name}"])
            if shown.status:
                raise data.preparing_failed("pgbench --show-script", shown)
            # The title goes to the same stream, as a comment of SQL.
            self._texts[script.name] = shown.stdout or shown.stderr
        return self._texts[script.name]

    @cached_property
    def _texts(self) -> dict[str, str]:
        """The text of each built-in script that was asked for."""
        return {}


def _explained(server: Server, statement: Statement) -> Mapping[str, Any]:
    """The generic plan, which needs no values of pgbench's variables; raises `QueryError`."""
    values = f"({', '.join(['NULL'] * statement.variables)})" if statement.variables else ""
    server.execute(f"PREPARE {_TRIED} AS {statement.sql}")
    try:
        server.execute("SET plan_cache_mode = force_generic_plan")
        ((found,),) = server.query(f"EXPLAIN (FORMAT JSON) EXECUTE {_TRIED}{values}")
    finally:
        server.execute(f"DEALLOCATE {_TRIED}")
        server.execute("RESET plan_cache_mode")
    plan: Mapping[str, Any] = found[0]["Plan"]
    return plan


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for each in plan.get("Plans", ()):
        yield from _nodes(each)


DRIVER = Driver(PgbenchOptions, PgbenchLoad, "PostgreSQL's own benchmark, or your scripts in it")
