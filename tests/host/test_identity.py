"""The same machine is known again, and its id is not given away."""

from pathlib import Path

from pgassay.host.identity import host_id


def test_the_machine_s_id_is_hashed(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n", encoding="utf-8")
    found = host_id(tmp_path)
    assert found == host_id(tmp_path)
    assert len(found) == 16
    assert found not in "0123456789abcdef0123456789abcdef"


def test_without_one_the_name_of_the_host_must_do(tmp_path: Path) -> None:
    assert host_id(tmp_path) == host_id(tmp_path / "nowhere") != ""
