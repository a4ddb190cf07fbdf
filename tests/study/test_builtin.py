"""The built-in studies are data files that parse in every size that they offer."""

from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.study import builtin
from pgassay.study.document import SIZES, Overrides, read, resolve


def test_fillfactor_is_built_in() -> None:
    assert "fillfactor" in builtin.names()


@pytest.mark.parametrize("name", builtin.names())
def test_every_size_resolves_and_every_claim_has_a_source(name: str) -> None:
    document = read(name, builtin.find(name)[1])
    for size in ("", *(size for size in SIZES if size in document)):
        found = resolve(name, document, Overrides(size=size))
        assert found.get("factors") or found.get("covariates") or found.get("treatments")
        assert all(claim["source"] for claim in found.get("claims", ()))


def test_a_near_name_is_suggested() -> None:
    with pytest.raises(UsageError, match='is called "filfactor"') as caught:
        builtin.find("filfactor")
    assert caught.value.hint == 'did you mean "fillfactor"?'


def test_a_file_is_found_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[study]\n")
    assert builtin.find(str(path)) == ("mine", "[study]\n")


def test_a_missing_file_and_a_binary_one_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        builtin.find(str(tmp_path / "none.toml"))
    (tmp_path / "bin.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="could not read study file"):
        builtin.find(str(tmp_path / "bin.toml"))


def test_a_quick_size_has_a_name_of_its_own() -> None:
    assert builtin.sized("cache-quick") == ("cache", "quick")
    assert builtin.sized("page-size") == ("page-size", ""), "a study of that name comes first"
    assert builtin.sized("no-such-quick") == ("no-such-quick", "")
    assert builtin.sized("./cache-quick") == ("./cache-quick", "")
