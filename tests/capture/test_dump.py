"""The dump's command and its failures, and what of a dump a study's cluster does not take; pg_dump itself is a fake."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from pgassay.capture import dump
from pgassay.capture.dump import dump_failed
from pgassay.capture.errors import CaptureError
from pgassay.interfaces.running import Completed

CONTENTS = """;
; Archive created at 2026-01-01
5; 3079 16385 EXTENSION - pg_stat_statements
3400; 0 0 COMMENT - EXTENSION pg_stat_statements
6; 3079 16390 EXTENSION - hstore
210; 1259 16400 TABLE public orders app
3300; 3256 16500 POLICY public orders own app
3301; 0 16400 ROW SECURITY public orders app
3302; 1417 16600 USER MAPPING - USER MAPPING app SERVER far
"""


WHOLE = "210; 1259 16400 TABLE public orders app\n"
OLDER = Path("15/pg_restore")


class Restore:
    """A pg_restore with this table of contents, whose SQL is `text`; `scripts` counts how often SQL was asked for.

    Of two versions the older one, `OLDER`, reads no such archive.
    """

    def __init__(self, contents: str, status: int = 0, text: str = "SELECT 1;\n") -> None:
        self.contents, self.status, self.text, self.scripts = contents, status, text, 0

    def run(self, command: list[str], *, stdout: Path | None = None, **_: object) -> Completed:
        if stdout is not None:
            self.scripts += 1
            stdout.write_text(self.text)
        status = 1 if command[0] == str(OLDER) else self.status
        return Completed(tuple(command), status, self.contents, "pg_restore: error: not an archive")


def playable(restore: Restore, folder: Path, *older: Path) -> dump.Playable:
    programs = [Path("pg_restore"), *older]
    return dump.playable(programs, folder / dump.FILE, folder, restore)  # type: ignore[arg-type]


def test_the_command_line_holds_no_password_and_quotes_what_it_must() -> None:
    words = dump.command(Path("/b/pg_dump"), {"host": "db 1", "dbname": "it's"}, Path("/o/data.dump"))
    assert words[-1] == "--dbname=host='db 1' dbname='it\\'s'"
    assert {"--format=custom", "--no-subscriptions", "--no-publications", "--lock-wait-timeout=5s"} <= set(words)


def test_what_a_new_cluster_has_no_business_with_is_left_out(tmp_path: Path) -> None:
    restore = Restore(CONTENTS)
    assert playable(restore, tmp_path) == dump.Playable(
        tmp_path / "data.sql",
        ("POLICY public orders own", "ROW SECURITY public orders", "USER MAPPING - USER MAPPING app SERVER"),
    )
    kept = (tmp_path / "contents.txt").read_text()
    assert kept == "6; 3079 16390 EXTENSION - hstore\n210; 1259 16400 TABLE public orders app\n"
    playable(restore, tmp_path)
    assert restore.scripts == 1, "it is made once"


def test_a_dump_that_can_be_taken_whole_stays_as_it_is(tmp_path: Path) -> None:
    assert playable(Restore(WHOLE), tmp_path) == dump.Playable(tmp_path / dump.FILE)


def test_an_older_version_that_cannot_read_the_dump_gets_sql_that_it_understands(tmp_path: Path) -> None:
    head = "--\n-- PostgreSQL database dump\n--\n\nSET statement_timeout = 0;\nSET transaction_timeout = 0;\n"
    rest = "SELECT 'SET transaction_timeout = 0;';\n"
    found = playable(Restore(WHOLE, text=head + rest), tmp_path, OLDER)
    assert found == dump.Playable(tmp_path / "data.sql")
    assert found.file.read_text() == head.replace("SET transaction", "--  transaction") + rest


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ('query would be affected by row-level security policy for table "o"', "BYPASSRLS"),
        ("canceling statement due to lock timeout", "another session holds a lock"),
        ("canceling statement due to conflict with recovery", "hot_standby_feedback"),
        ("permission denied for table o", "pg_read_all_data"),
        ("could not write to output file: No space left on device", "--out"),
        ("server closed the connection unexpectedly", "capture again when it is back"),
        ("terminating connection due to administrator command", "capture again when it is back"),
        ("invalid page in block 7", "the message is pg_dump's"),
    ],
)
def test_a_dump_that_fails_says_what_helps(said: str, hint: str) -> None:
    assert hint in str(dump_failed(said).hint)


def test_a_damaged_dump_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="not an archive"):
        playable(Restore("", status=1), tmp_path)


@pytest.mark.parametrize(
    ("stderr", "said"),
    [
        (
            'pg_dump: error: Dumping the contents of table "t" failed: PQgetResult() failed.\n'
            "pg_dump: detail: Error message from server: FATAL:  terminating connection\n"
            "pg_dump: detail: Command was: COPY",
            "PQgetResult() failed: FATAL:  terminating connection",
        ),
        ("pg_dump: error: could not write to output file: No space left on device\n", "No space left on device"),
        ("", "status 1 and without a message"),
    ],
)
def test_pg_dump_says_why_it_failed_in_its_own_words(tmp_path: Path, stderr: str, said: str) -> None:
    with pytest.raises(CaptureError) as raised:
        raise dump._failure(Completed(("pg_dump",), 1, "", stderr), tmp_path / dump.FILE)
    assert raised.value.message.endswith(said)


def test_on_a_full_drive_not_even_that_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump, "disk_usage", lambda path: SimpleNamespace(free=0))
    with pytest.raises(CaptureError, match="No space left on device") as raised:
        raise dump._failure(Completed(("pg_dump",), 1, "", ""), tmp_path / dump.FILE)
    assert "--out" in str(raised.value.hint)
