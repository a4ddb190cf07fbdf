"""Certificates, addresses and hosts: what is refused before anything runs."""

import shutil
import socket
import ssl
import subprocess
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from pgassay import __version__
from pgassay.cli import main
from pgassay.errors import UsageError
from pgassay.fleet import FleetError, blocks, certificates, worker
from pgassay.fleet.blocks import names_its_postgres
from pgassay.fleet.dask_executor import Terms, checked, differences
from pgassay.lab.named_files import bounds_of
from pgassay.study import document as documents
from pgassay.testing import real

STUDY = """
[study]
format = 1
title = "Mine"
question = "Which?"

[factors]
{factor}

[load]
driver = "pgbench"
"""


@pytest.mark.parametrize("text", ["tls://head:8786", "tls://[2001:db8::1]:8786", "tcp://127.0.0.1:1", "tcp://[::1]:1"])
def test_tls_goes_anywhere_and_plain_tcp_stays_here(text: str) -> None:
    assert certificates.parse_address(text).encrypted == text.startswith("tls")


@pytest.mark.parametrize(
    "text",
    [
        "tcp://head:8786", "tcp://localhost:8786", "tcp://0.0.0.0:8786", "tcp://10.0.0.1:8786", "tcp://127.0.0.1.x:1",
        "tcp://[::]:1", "head:8786", "tls://head", "tls://:8786", "ucx://head:8786", "tls://head:99999", "",
        "tls://user@head:8786", "tls://head:8786/path",
    ],
)  # fmt: skip
def test_every_other_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        certificates.parse_address(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    assert main(["fleet", "certs", str(tmp_path / "certs"), "--days", "2"]) == 0
    return tmp_path / "certs"


def test_keys_are_for_their_owner_alone_and_the_authoritys_is_gone(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    assert names == {"ca.pem", "head.pem", "head-key.pem", "worker.pem", "worker-key.pem"}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.glob("*-key.pem"))
    for end in ("head", "worker"):
        found = certificates.find(folder, end)
        context = ssl.create_default_context(cafile=str(found.authority))
        context.load_cert_chain(found.certificate, found.key)
        command = ["openssl", "verify", "-x509_strict", "-CAfile", str(found.authority), str(found.certificate)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_certificates_are_never_written_over_and_open_keys_are_refused(folder: Path) -> None:
    before = (folder / "ca.pem").read_bytes()
    assert main(["fleet", "certs", str(folder)]) == 2
    assert (folder / "ca.pem").read_bytes() == before
    (folder / "head-key.pem").chmod(0o640)
    with pytest.raises(UsageError, match="others may read"):
        certificates.find(folder, "head")
    (folder / "worker.pem").unlink()
    with pytest.raises(UsageError, match=r"lacks worker\.pem"):
        certificates.find(folder, "worker")


def host(machine: str, model: str = "X", version: str = __version__) -> dict[str, object]:
    facts = {"cpu": {"model": model}, "memory": {"total_bytes": 8 << 30}, "kernel": {"release": "6.1"}}
    return {"machine": machine, "pgassay": version, "facts": facts}


def test_hosts_must_be_several_machines_of_one_kind_and_version() -> None:
    checked({"a": host("1"), "b": host("2")}, Terms(2))
    with pytest.raises(FleetError, match="a, b run on one machine"):
        checked({"a": host("1"), "b": host("1"), "c": host("2")}, Terms(3))
    checked({"a": host("1"), "b": host("1")}, Terms(2, shared_machine=True))
    with pytest.raises(FleetError, match=r"cpu model \(a: X, b: Y\)"):
        checked({"a": host("1"), "b": host("2", "Y")}, Terms(2))
    checked({"a": host("1"), "b": host("2", "Y")}, Terms(2, mixed=True))
    with pytest.raises(FleetError, match=r"has pgassay 0\.0\.1"):
        checked({"a": host("1"), "b": host("2", version="0.0.1")}, Terms(2, shared_machine=True, mixed=True))


def test_memory_may_differ_by_what_a_kernel_keeps() -> None:
    one, other = host("1"), host("2")
    other["facts"] = {**one["facts"], "memory": {"total_bytes": (8 << 30) + (50 << 20)}}  # type: ignore[dict-item]
    assert differences({"a": one, "b": other}) == []
    other["facts"] = {**one["facts"], "memory": {"total_bytes": 16 << 30}}  # type: ignore[dict-item]
    assert len(differences({"a": one, "b": other})) == 1


def test_hosts_with_other_versions_of_postgresql_are_refused_unless_the_study_names_one() -> None:
    one, other = host("1"), host("2")
    one["facts"] = {**one["facts"], "postgres": {"version": "17.5"}}  # type: ignore[dict-item]
    other["facts"] = {**other["facts"], "postgres": {"version": "16.4"}}  # type: ignore[dict-item]
    with pytest.raises(FleetError, match=r"postgres version \(a: 17\.5, b: 16\.4\)"):
        checked({"a": one, "b": other}, Terms(2))
    checked({"a": one, "b": other}, Terms(2, own_postgres=True))
    assert not names_its_postgres(["table.fillfactor", "load.clients"])
    assert names_its_postgres(["table.fillfactor", "postgres.version"])
    assert names_its_postgres(["build.block_size"])


def test_the_facts_of_a_host_have_its_postgresql() -> None:
    told = worker.facts()["facts"]["postgres"]["version"]
    assert told == str(real.installation().version)


def read_files(text: str) -> None:
    blocks.read_files(text, bounds_of("mine", documents.read("mine", text)))


def test_a_study_with_files_of_its_own_that_cannot_travel_is_refused(tmp_path: Path) -> None:
    script, drive, folder = tmp_path / "mine.sql", tmp_path / "drive.toml", tmp_path / "cluster"
    script.write_text("SELECT 1;\n")
    drive.touch()
    folder.mkdir()
    for text in (f'"load.script" = ["{script}@3", "select-only"]', '"load.clients" = ["1", "2"]'):
        read_files(STUDY.format(factor=text))
    for text, why in (
        (f'"load.init" = ["none", "{tmp_path}/none.sql"]', r'none\.sql" cannot be read: no such file'),
        (f'"load.lua" = ["none", "{folder}"]', 'cluster" is a directory'),
        (f'"drive.data" = ["directory", "{drive}"]', r'drive\.toml" is named for something'),
        ('"load.script" = ["select-only", "mine.sql"]', "does not begin at the root"),
    ):
        with pytest.raises(UsageError, match=why) as raised:
            read_files(STUDY.format(factor=text))
        assert "without --on" in (raised.value.hint or "")


def test_a_worker_of_another_fleet_is_told_so(folder: Path, tmp_path: Path) -> None:
    ours, others = certificates.find(folder, "worker"), tmp_path / "others"
    assert main(["fleet", "certs", str(others), "--days", "2"]) == 0
    head = certificates.find(others, "head")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(head.authority))
    context.load_cert_chain(head.certificate, head.key)
    with socket.create_server(("127.0.0.1", 0)) as bound:

        def answer() -> None:
            line, _ = bound.accept()
            with line, suppress(OSError), context.wrap_socket(line, server_side=True):
                pass

        thread = Thread(target=answer)
        thread.start()
        address = certificates.parse_address(f"tls://127.0.0.1:{bound.getsockname()[1]}")
        with pytest.raises(UsageError, match="is of another fleet") as caught:
            worker.serve(address, ours, "host-1")
        thread.join()
    assert str(ours.authority) in (caught.value.hint or "")
