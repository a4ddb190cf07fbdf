"""Settings: names, quoting, what stays ours, what `postgres -C` answers, and which values mean the same."""

import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from pgassay.errors import PgassayError, UsageError
from pgassay.interfaces.errors import BenchError, SettingError, SpaceError
from pgassay.postgres import settings
from pgassay.postgres.settings import Setting, in_base_unit, same
from tests.fakes.runner import FakeRunner, Program

BINDIR = Path("/pg/bin")


def _runner(program: Program) -> FakeRunner:
    return FakeRunner({"postgres": program})


def test_every_private_setting_is_refused_in_any_letter_case() -> None:
    for name in (*settings.PRIVATE, "Port", "LISTEN_ADDRESSES"):
        with pytest.raises(UsageError, match="cannot be a factor"):
            settings.require_name(name)
    for name in ("work_mem", "pg_stat_statements.max", "plpgsql.extra_warnings", "a.b.c"):
        settings.require_name(name)


@pytest.mark.parametrize("name", ["", "work mem", "work_mem = 1\nfsync", "1x", "a..b", "x'", "a.", "fsync;"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(SettingError):
        settings.require_name(name)
    with pytest.raises(SettingError):
        settings.file_text({name: "1"})
    with pytest.raises(SettingError):
        settings.ask(_runner(lambda arguments, given: (0, "", "")), BINDIR, Path("/d"), {name: "1"}, "fsync")


def test_values_are_quoted_for_the_file() -> None:
    text = settings.file_text({"search_path": '"$user", public', "cluster_name": "it's a \\ mark"})
    assert text.splitlines()[1:] == ["search_path = '\"$user\", public'", "cluster_name = 'it''s a \\\\ mark'"]
    for value in ("a\nport = 1", "a\0"):
        with pytest.raises(SettingError, match="line break"):
            settings.file_text({"cluster_name": value})


def test_extensions_settings_want_their_library() -> None:
    with pytest.raises(SettingError, match="not loaded") as caught:
        settings.require_libraries({"pg_stat_statements.max": "100"})
    assert caught.value.hint == 'add "server.shared_preload_libraries" = "pg_stat_statements"'
    settings.require_libraries(
        {"pg_stat_statements.max": "1", "shared_preload_libraries": 'auto_explain, "$libdir/pg_stat_statements"'}
    )
    settings.require_libraries({"plpgsql.extra_warnings": "all", "work_mem": "1MB"})


def test_check_asks_once_with_all_values() -> None:
    runner = _runner(lambda arguments, given: (0, "x\n", ""))
    settings.check(runner, BINDIR, Path("/d"), {"work_mem": "1MB", "fsync": "off"})
    settings.check(runner, BINDIR, Path("/d"), {})
    assert runner.calls == [
        ("/pg/bin/postgres", "-D", "/d", "-c", "work_mem=1MB", "-c", "fsync=off", "-C", "work_mem"),
    ]


def _refusing(arguments: Sequence[str], given: str) -> tuple[int, str, str]:
    if arguments == ["--describe-config"]:
        return 0, "shared_buffers\tpostmaster\t\nfsync\tsighup\t\n", ""
    if unknown := [each for each in ("shared_bufers", "io_workers") if f"{each}=1" in arguments]:
        return 1, "", f'FATAL:  unrecognized configuration parameter "{unknown[0]}"\n'
    return 1, "", 'FATAL:  invalid value for parameter "fsync": "x"\nHINT:  Take another.\n'


def test_refusals_are_in_the_servers_words() -> None:
    runner = _runner(_refusing)
    with pytest.raises(PgassayError, match='no setting "shared_bufers"') as caught:
        settings.ask(runner, BINDIR, Path("/d"), {"shared_bufers": "1"}, "shared_bufers")
    assert caught.value.hint == 'did you mean "shared_buffers"?'
    with pytest.raises(PgassayError, match='no setting "io_workers"') as caught:
        settings.ask(runner, BINDIR, Path("/d"), {"io_workers": "1"}, "io_workers")
    other = "it is a setting of PostgreSQL 18; later ones have io_min_workers and io_max_workers"
    assert caught.value.hint == other, "one that another version has"
    with pytest.raises(SettingError, match=r"refuses fsync = 'x': invalid value") as refused:
        settings.ask(runner, BINDIR, Path("/d"), {"work_mem": "1MB", "fsync": "x"}, "work_mem")
    assert refused.value.hint == "take another"


@pytest.mark.parametrize(
    ("name", "value", "library", "values"),
    [
        ("io_method", "io_uring", "liburing", "sync, worker"),
        ("wal_compression", "zstd", "zstd", "pglz, on, off"),
        ("default_toast_compression", "lz4", "lz4", "pglz"),
    ],
)
def test_what_a_build_lacks_is_named_by_its_library(name: str, value: str, library: str, values: str) -> None:
    """In the words of PostgreSQL 18.6 and 19devel that were built without them."""
    words = f'FATAL:  invalid value for parameter "{name}": "{value}"\nHINT:  Available values: {values}.\n'
    runner = _runner(lambda arguments, given: (1, "", words))
    with pytest.raises(SettingError, match=f"refuses {name} = '{value}': invalid value") as refused:
        settings.ask(runner, BINDIR, Path("/d"), {name: value}, name)
    assert refused.value.hint == f"it needs a PostgreSQL that was built with {library}; available values: {values}"


def _setting(value: str, unit: str | None = None, kind: str = "integer") -> Setting:
    return Setting("some_setting", value, unit, kind, "configuration file", "sighup")


@pytest.mark.parametrize(
    ("typed", "unit", "number"),
    [
        ("1GB", "8kB", 131072), ("1GB", "4kB", 262144), ("16384", "8kB", 16384), ("64MB", "kB", 65536),
        ("1.5GB", "MB", 1536), ("90s", "s", 90), ("1.5min", "s", 90), ("2500us", "ms", 2.5), ("1d", "min", 1440),
        ("32MB", "B", 33554432), ("0x10", None, 16), ("-1", "8kB", -1),
    ],
)  # fmt: skip
def test_base_units(typed: str, unit: str | None, number: float) -> None:
    assert in_base_unit(typed, unit) == pytest.approx(number)


@pytest.mark.parametrize(("typed", "unit"), [("on", "8kB"), ("30s", "8kB"), ("8kB", "ms"), ("8kB", None), ("5x", "s")])
def test_other_kinds_are_no_quantity(typed: str, unit: str | None) -> None:
    assert in_base_unit(typed, unit) is None


def test_a_fraction_is_rounded_to_the_next_smaller_unit() -> None:
    assert in_base_unit("30.1GB", "kB") == 30822 * 1024, "30.1 GB is 30822.4 MB, which PostgreSQL rounds to whole MB"


@pytest.mark.parametrize(
    ("typed", "setting", "equal"),
    [
        ("64MB", _setting("8192", "8kB"), True),
        ("64MB", _setting("8193", "8kB"), False),
        ("12kB", _setting("2", "8kB"), True),
        ("true", _setting("on", None, "bool"), True),
        ("0", _setting("on", None, "bool"), False),
        ("perhaps", _setting("on", None, "bool"), False),
        ("2500us", _setting("2.5", "ms", "real"), True),
        ("0.1", _setting("0.2", None, "real"), False),
        ("yes", _setting("on", None, "enum"), True),
        ("REPLICA", _setting("replica", None, "enum"), True),
        ("on", _setting("pglz", None, "enum"), False),
        ("a, b", _setting("a, b", None, "string"), True),
        ("A", _setting("a", None, "string"), False),
        ("words", _setting("1", "s"), False),
    ],
)
def test_same(typed: str, setting: Setting, equal: bool) -> None:
    assert same(typed, setting) is equal


@pytest.mark.parametrize(
    ("status", "errors", "kind", "said"),
    [
        (-signal.SIGKILL, "", BenchError, "was killed, by another program or by the kernel"),
        (1, 'FATAL:  could not write to file "x": No space left on device', SpaceError, "found no space"),
    ],
)
def test_what_happens_to_the_program_accuses_no_setting(
    status: int, errors: str, kind: type[BenchError], said: str
) -> None:
    with pytest.raises(kind, match=said) as caught:
        settings.ask(
            _runner(lambda arguments, given: (status, "", errors)), BINDIR, Path("/d"), {"fsync": "on"}, "fsync"
        )
    assert not isinstance(caught.value, SettingError)
