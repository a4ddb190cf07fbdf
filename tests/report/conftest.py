"""axe-core's script, fetched once for all files that open pages in a browser."""

import pytest

from tests.report.browser import axe


@pytest.fixture(scope="session")
def axe_script(tmp_path_factory: pytest.TempPathFactory) -> str:
    """For `browser.ask`; skips where there is no npm."""
    return axe(tmp_path_factory.mktemp("axe"))
