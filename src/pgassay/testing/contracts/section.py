"""What every report section keeps: it has a name of its own, works on every surface, and its numbers are plain JSON."""

import json
from typing import get_args

import pytest

from pgassay.report.contents import SECTIONS
from pgassay.report.findings import Findings
from pgassay.report.json_values import to_json
from pgassay.report.section import Block, Section, Sentences, Surface, Values
from pgassay.testing.planted import make_run


class SectionContract:
    """What every section keeps; give a fixture `section`, and `findings` (of the class) if it needs another run."""

    @pytest.fixture
    def section(self) -> Section:
        """The section under test; a subclass overrides this fixture."""
        raise NotImplementedError("the test class must have a fixture `section`")

    @pytest.fixture(scope="class")
    @classmethod
    def findings(cls, tmp_path_factory: pytest.TempPathFactory) -> Findings:
        """Eight blocks of the study fillfactor in which 75 is 20 % better."""
        return Findings(make_run(tmp_path_factory.mktemp("planted") / "run"))

    def test_it_says_what_it_is(self, section: Section) -> None:
        assert section.title
        assert section.name.replace("-", "_").isidentifier(), "it becomes an anchor of the page"
        assert section.name not in {other.name for other in SECTIONS if other is not section}

    def test_its_place_exists(self, section: Section) -> None:
        assert section.after in {"", *(other.name for other in SECTIONS)}

    def test_it_is_made_of_blocks(self, section: Section, findings: Findings) -> None:
        blocks = list(section.blocks(findings))
        assert all(isinstance(block, get_args(Block)) for block in blocks)
        for surface in (Surface.PAGE, Surface.TERMINAL):
            assert surface in section.on or section.shown(findings, surface) == ()

    def test_a_sentence_leaves_its_full_stop_to_the_surface(self, section: Section, findings: Findings) -> None:
        texts = [text for block in section.blocks(findings) if isinstance(block, Sentences) for text in block.texts]
        assert [text for text in texts if text.endswith(".") and not text.endswith("…")] == []

    def test_its_numbers_have_names_and_are_values(self, section: Section, findings: Findings) -> None:
        plain = section.plain(findings)
        assert all(isinstance(key, str) for key in plain)
        json.loads(to_json(plain))

    def test_it_says_the_same_again(self, section: Section, findings: Findings) -> None:
        first, again = (
            to_json([part.values for part in section.parts(findings) if isinstance(part, Values)]) for _ in range(2)
        )
        assert first == again
