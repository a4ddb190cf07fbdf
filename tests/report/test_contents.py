"""The list of sections: every surface is made of it, and a section of another package appears on all of them."""

import io
from pathlib import Path

import pytest

from pgassay.errors import UsageError
from pgassay.report import contents, text
from pgassay.report.findings import Findings
from pgassay.report.section import Cell, Section, Table, Values
from pgassay.testing.planted import make_run
from tests.packages import Install
from tests.report.blocks import body, plain

POINT = "[pgassay.sections]\nelectricity = {module}:SECTION\n"
CODE = """
from pgassay.report.section import Section, Sentences, Table, Values

def describe(findings):
    yield Sentences(("each trial took so many joules",))
    names = [each.name for each in findings.study.treatments]
    yield Table(("treatment", "joules"), [(name, "12" if "75" in name else "15") for name in names], "Energy")
    yield Values({"electricity": {"joules": 12}})

SECTION = Section("electricity", "Electricity", describe, link="Electricity", after="space", secondary=True)
"""


@pytest.fixture
def findings(tmp_path: Path) -> Findings:
    return Findings(make_run(tmp_path / "run"))


def test_every_anchor_is_there_once(findings: Findings) -> None:
    names = [section.name for section in contents.SECTIONS]
    assert len(set(names)) == len(names)
    page = body(findings)
    anchors = [part.partition('"')[0] for part in page.split(' id="')[1:]]
    assert len(set(anchors)) == len(anchors)
    for link in page.split('href="#')[1:]:
        assert link.partition('"')[0] in anchors


def test_a_section_of_another_package_appears_on_every_surface(findings: Findings, install: Install) -> None:
    install("pg-joules", POINT.format(module="joules_a"), CODE, "joules_a")
    page, said = body(findings), text.render(findings)
    heading = '<summary><h2>Electricity <span class="small">secondary</span></h2><span class="brief">Energy</span>'
    assert f'<details class="chapter" id="electricity">\n{heading}' in page
    assert '<a href="#electricity">Electricity</a>' in page
    assert "Each trial took so many joules." in page
    assert "\nElectricity (secondary)\n  each trial took so many joules\n" in said
    assert said.index("Measurements") < said.index("Electricity") < said.index("Published claims")
    assert plain(findings)["electricity"] == {"joules": 12}
    file = io.StringIO()
    contents.write_csv(findings, file)
    assert "electricity,Energy,table.fillfactor=75,joules,12" in file.getvalue().splitlines()


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("1 / 0", 'section "electricity" of package pg-joules 1.2 cannot be used: ZeroDivisionError'),
        ("SECTION = 7", "is of type int, not pgassay.report.section.Section"),
        (CODE.replace('"12"', "findings.joules"), 'section "electricity" of another package failed: AttributeError'),
    ],
)
def test_a_broken_section_is_named_and_takes_nothing_from_the_others(
    findings: Findings, install: Install, code: str, says: str
) -> None:
    whole = plain(findings)
    module = f"joules_{abs(hash(code))}"
    install("pg-joules", POINT.format(module=module), code, module)
    said = text.render(findings)
    assert says in said
    assert "better:" in said
    assert whole.items() <= plain(findings).items()


def test_two_sections_share_no_key_but_mappings(findings: Findings, monkeypatch: pytest.MonkeyPatch) -> None:
    same = Section("same", "Same", lambda _: (Values({"baseline": "mine"}),))
    monkeypatch.setattr(contents, "SECTIONS", (*contents.SECTIONS, same))
    with pytest.raises(UsageError, match='section "same" writes "baseline"'):
        contents.document(findings)


def test_numbers_are_set_right_and_words_are_not() -> None:
    rows = [("a", "+1.2 % [+0.1, +2.3]", "–", "–", "2 blocks"), ("b", "×1.20", "12 MB", "8kB", "so it is")]
    assert Table(("", "1", "2", "3", "4"), rows).numeric == [False, True, True, True, False]
    assert Table(("name", "value"), [("8", Cell("1,200", unit="ms"))]).numeric == [False, True]
    assert Table(("name", "value"), [("8", "1,200")], texts=True).numeric == [False, False]
