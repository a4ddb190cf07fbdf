"""A user's own server without processes: its databases, what ALTER SYSTEM has set, and who is connected.

Implements `postgres.attached.facts.Sql` for the statements that attaching uses. `killed_at` ends the lab at a
statement, before it is done or right after, as SIGKILL would: nothing is tidied up.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pgassay.interfaces.errors import QueryError

Rows = list[tuple[Any, ...]]
Answer = Callable[["FakeStaging", re.Match[str], Sequence[Any]], Rows]


class Killed(BaseException):
    """The lab is gone at this point."""


@dataclass
class FakeStaging:
    """The server; `state` is what must be the same before and after."""

    databases: dict[str, dict[str, str]] = field(default_factory=lambda: {"postgres": {}, "app": {"work_mem": "64MB"}})
    comments: dict[str, str] = field(default_factory=dict)
    file: dict[str, str] = field(default_factory=lambda: {"checkpoint_timeout": "10min"})
    """postgresql.auto.conf."""
    loaded: dict[str, str] = field(default_factory=lambda: {"checkpoint_timeout": "10min"})
    """The same as it was at the last reload."""
    hides_files: bool = False
    """pg_file_settings is closed to the role, as it is to all but superusers."""
    system: str = "7"
    standby: bool = False
    timeline: int = 1
    killed_at: int = -1
    after: bool = False
    statements: list[str] = field(default_factory=list)
    loads: int = 0

    @property
    def state(self) -> tuple[dict[str, dict[str, str]], dict[str, str], dict[str, str]]:
        """Databases with their settings, postgresql.auto.conf, and what of it is in force."""
        return (
            {name: dict(values) for name, values in self.databases.items()},
            dict(self.file),
            dict(self.loaded),
        )

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        """Do one statement; raises `QueryError` for one that the fake does not know."""
        number = len(self.statements)
        if number == self.killed_at and not self.after:
            raise Killed(sql)
        self.statements.append(sql)
        try:
            return self._answer(" ".join(sql.split()), parameters)
        finally:
            if number == self.killed_at:
                raise Killed(sql)

    def close(self) -> None:
        """There is nothing to close."""

    def _answer(self, text: str, parameters: Sequence[Any]) -> Rows:
        for pattern, answer in KNOWN.items():
            found = re.fullmatch(pattern, text)
            if found:
                return answer(self, found, parameters)
        raise QueryError(f'the fake server does not know "{text}"')


def _create(server: FakeStaging, found: re.Match[str], parameters: Sequence[Any]) -> Rows:
    if found["name"] in server.databases:
        raise QueryError(f'database "{found["name"]}" already exists')
    if found["template"] not in (*server.databases, "template0"):
        raise QueryError(f'template database "{found["template"]}" does not exist')
    server.databases[found["name"]] = {}
    return []


def _comment(server: FakeStaging, found: re.Match[str], parameters: Sequence[Any]) -> Rows:
    server.comments[found["name"]] = found["text"]
    return []


def _drop(server: FakeStaging, found: re.Match[str], parameters: Sequence[Any]) -> Rows:
    server.databases.pop(found["name"], None)
    return []


def _set(server: FakeStaging, found: re.Match[str], parameters: Sequence[Any]) -> Rows:
    server.file[found["setting"]] = found["value"]
    return []


def _reset(server: FakeStaging, found: re.Match[str], parameters: Sequence[Any]) -> Rows:
    server.file.pop(found["setting"], None)
    return []


def _set_of_database(server: FakeStaging, found: re.Match[str], parameters: Sequence[Any]) -> Rows:
    server.databases[found["name"]][found["setting"]] = found["value"]
    return []


def _reload(server: FakeStaging, found: re.Match[str], parameters: Sequence[Any]) -> Rows:
    server.loaded = dict(server.file)
    server.loads += 1
    return [(True,)]


def _of_file(server: FakeStaging, found: re.Match[str], parameters: Sequence[Any]) -> Rows:
    if server.hides_files:
        raise QueryError("permission denied for view pg_file_settings")
    value = server.file.get(parameters[0])
    return [] if value is None else [(value,)]


def _of_settings(server: FakeStaging, found: re.Match[str], parameters: Sequence[Any]) -> Rows:
    value = server.loaded.get(parameters[0])
    return [] if value is None else [(value,)]


def _facts(server: FakeStaging, found: re.Match[str], parameters: Sequence[Any]) -> Rows:
    return [(170005, "PostgreSQL 17.5", server.standby, "dba", True, True, True, True, True, 97, None, 0, "7.5")]


KNOWN: dict[str, Answer] = {
    r"SELECT current_setting\('server_version_num'\).*": _facts,
    r"SELECT system_identifier.*": lambda server, found, parameters: [(server.system,)],
    r"SELECT .*pg_walfile_name.*": lambda server, found, parameters: [(server.timeline,)],
    r'CREATE DATABASE "(?P<name>\w+)" TEMPLATE "(?P<template>\w+)"( STRATEGY = FILE_COPY)?': _create,
    r"COMMENT ON DATABASE \"(?P<name>\w+)\" IS '(?P<text>.*)'": _comment,
    r'DROP DATABASE IF EXISTS "(?P<name>\w+)" WITH \(FORCE\)': _drop,
    r"ALTER DATABASE \"(?P<name>\w+)\" SET (?P<setting>\w+) = '(?P<value>.*)'": _set_of_database,
    r"ALTER SYSTEM SET (?P<setting>\w+) = '(?P<value>.*)'": _set,
    r"ALTER SYSTEM RESET (?P<setting>\w+)": _reset,
    r"SELECT pg_conf_load_time\(\)": lambda server, found, parameters: [(server.loads,)],
    r"SELECT pg_reload_conf\(\)": _reload,
    r"SELECT setting FROM pg_file_settings .*": _of_file,
    r"SELECT current_setting\(name\) FROM pg_settings .*": _of_settings,
    r"SELECT 1 FROM pg_database WHERE datname = %s": lambda server, found, parameters: (
        [(1,)] if parameters[0] in server.databases else []
    ),
}
