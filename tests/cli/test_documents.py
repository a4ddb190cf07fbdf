"""Studies made by the command line: `compare` and `init` write documents that parse."""

import pytest

from pgassay.cli.compare import add_arguments, document_of, with_full_names
from pgassay.cli.init import study_text
from pgassay.cli.parser import Parser
from pgassay.errors import UsageError
from pgassay.lab.catalogue import every_factor
from pgassay.lab.run import recorded_study
from pgassay.postgres.settings import stays
from pgassay.study.document import read
from pgassay.study.parsing import parse, parse_recorded


def _compare(*words: str) -> dict[str, object]:
    parser = Parser("pgassay compare", "")
    add_arguments(parser)
    return document_of(with_full_names(parser.parse_args(words)))


def test_compare_makes_a_study_whose_first_level_is_the_baseline() -> None:
    document = _compare("server.shared_buffers=64MB", "server.shared_buffers=1GB", "-s", "5", "-c", "8", "-S")
    study = parse("compare", document, every_factor())
    assert study.design.baseline.name == "server.shared_buffers=64MB"
    assert study.fixed["load.scale"].canonical == "5"
    assert study.fixed["load.clients"].canonical == "8"
    assert study.fixed["load.script"].typed == "select-only"


def test_a_bare_name_is_a_setting_of_the_server() -> None:
    study = parse("compare", _compare("work_mem=4MB", "work_mem=64MB", "load.clients=2"), every_factor())
    assert [arm.name for arm in study.arms] == [
        *(f"server.work_mem={level}, load.clients=2" for level in ("4MB", "64MB")),
    ]
    parser = Parser("pgassay compare", "")
    add_arguments(parser)
    words = ["jit=on", "jit=off", "--set", "work_mem=1MB", "--set", "load.scale=3", "--levels", "wal_level=a.b,c"]
    arguments = with_full_names(parser.parse_args(words))
    assert arguments.set == ["server.work_mem=1MB", "load.scale=3"]
    assert arguments.levels == ["server.wal_level=a.b,c"]


@pytest.mark.parametrize("name", ["pg_trgm.similarity_threshold", "postgis.backend_threshold"])
def test_a_setting_of_an_extension_is_one_of_the_server(name: str) -> None:
    study = parse("compare", _compare(f"{name}=0.3", f"{name} = 0.5"), every_factor())
    assert [arm.name for arm in study.arms] == [f"server.{name}={level}" for level in ("0.3", "0.5")]


@pytest.mark.parametrize(
    ("typed", "meant"), [("laod.clients", "load.clients"), ("tabel.fillfactor", "table.fillfactor")]
)
def test_a_misspelt_factor_is_no_setting_of_an_extension(typed: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f'unknown factor "{typed}"') as caught:
        parse("compare", _compare(f"{typed}=70", f"{typed}=80"), every_factor())
    assert meant in str(caught.value.hint)


def test_transactions_replace_the_duration() -> None:
    study = parse("compare", _compare("load.clients=1", "load.clients=2", "-t", "100"), every_factor())
    assert "load.duration" not in study.fixed
    assert study.fixed["load.transactions"].canonical == "100"


def test_init_writes_a_study_that_parses_back_whatever_the_values() -> None:
    settings = {"work_mem": "64MB", "search_path": '"$user", public', "shared_buffers": "2GB"}
    text = study_text("mine.toml", "15.3", settings, {"port": "5432"})
    study = parse("mine", read("mine", text), every_factor())
    assert study.fixed["server.search_path"].typed == settings["search_path"]
    assert study.fixed["server.shared_buffers"].typed == "2GB"
    assert '#   port = "5432"' in text


def test_a_record_tells_its_baseline_as_its_treatments_are_typed() -> None:
    document = {
        "study": {"format": 1},
        "factors": {"server.work_mem": ["64MB", "4MB"], "server.jit": [True, False]},
        "design": {"baseline": {"server.work_mem": "4096kB", "server.jit": "off"}},
    }
    study = parse("mine", document, every_factor())
    later = parse_recorded("mine", read("mine", recorded_study(study, document)))
    assert later.design.baseline.name == study.design.baseline.name == "server.work_mem=4MB, server.jit=off"
    assert [arm.name for arm in later.arms] == [arm.name for arm in study.arms]


def test_a_curve_without_treatments_has_no_baseline_to_record() -> None:
    document = {"covariates": {"load.clients": [1, 2]}}
    written = recorded_study(parse("mine", document, every_factor()), document)
    assert read("mine", written) == document


def test_what_belongs_to_a_place_stays_there() -> None:
    assert all(map(stays, ("port", "ssl_cert_file", "archive_command", "pg_stat_statements.max", "lc_messages")))
    assert not any(map(stays, ("work_mem", "max_wal_size", "wal_compression", "random_page_cost")))
