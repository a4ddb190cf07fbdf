"""What every factor keeps: levels have one canonical form, nonsense is refused with a hint, and nothing is echoed.

Reading back is the point: a report says what really held, so a level that nothing can show it is None.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pgassay.bench.factor import Factor, Readable, SetupDraft, Stage, matches
from pgassay.errors import UsageError
from pgassay.testing.fakes.server import FakeInstallation, FakeServer


class FactorContract:
    """What every factor keeps; give fixtures `factor` and `levels`, and `refused` for what it must not take."""

    @pytest.fixture
    def factor(self) -> Factor:
        """The factor under test; a subclass overrides this fixture."""
        raise NotImplementedError("the test class must have a fixture `factor`")

    @pytest.fixture
    def levels(self) -> Mapping[str, str]:
        """At least two levels as typed, to their canonical form."""
        raise NotImplementedError("the test class must have a fixture `levels`")

    @pytest.fixture
    def refused(self) -> Sequence[str]:
        """Texts that are no level."""
        return ("", "a horse")

    @pytest.fixture
    def name(self, factor: Factor) -> str:
        """A name that the factor covers."""
        return factor.pattern.replace("*", "some_name")

    @pytest.fixture
    def server(self, tmp_path: Path) -> FakeServer:
        """A server without processes, which knows only the statements that pgassay's own factors use."""
        installation = FakeInstallation()
        installation.initialize(tmp_path / "data", {})
        return installation.start(tmp_path / "data", {}, tmp_path)

    def test_it_says_what_it_is(self, factor: Factor, name: str) -> None:
        assert "." in factor.pattern, "a name has its namespace before it"
        assert matches(factor.pattern, name)
        assert factor.summary, "a line for pgassay studies --factors"
        assert factor.stage in Stage

    def test_a_level_has_one_canonical_form(self, factor: Factor, name: str, levels: Mapping[str, str]) -> None:
        assert len(set(levels.values())) >= 2, "at least two levels, to vary it"
        for typed, canonical in levels.items():
            level = factor.parse(name, typed)
            assert (level.typed, level.canonical) == (typed, canonical)
            assert factor.parse(name, canonical).canonical == canonical

    def test_nonsense_is_refused(self, factor: Factor, name: str, refused: Sequence[str]) -> None:
        for typed in refused:
            with pytest.raises(UsageError):
                factor.parse(name, typed)

    def test_preparing_twice_asks_for_the_same(self, factor: Factor, name: str, levels: Mapping[str, str]) -> None:
        for typed in levels:
            once, again = SetupDraft(), SetupDraft()
            level = factor.parse(name, typed)
            factor.prepare(name, level, once)
            factor.prepare(name, level, again)
            assert once == again

    def test_what_is_read_back_is_what_holds_and_not_what_was_asked(
        self, factor: Factor, name: str, levels: Mapping[str, str], server: FakeServer
    ) -> None:
        asked = [factor.parse(name, typed) for typed in levels]
        read = [factor.read_back(name, level, Readable(server)) for level in asked]
        assert set(read) == {read[0]}, "one server has one answer, whatever the level"

    def test_it_tells_before_a_run_whether_this_machine_can_have_it(self, factor: Factor, name: str) -> None:
        reason = factor.unavailable(name)
        assert reason is None or reason
