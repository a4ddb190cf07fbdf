"""Contracts that plug-ins must keep, and the fake clock and server that these need.

Shipped with pgassay, so that another package's tests can use them; nothing that pgassay itself runs imports this.
"""

import pytest

pytest.register_assert_rewrite(f"{__name__}.contracts")  # before anything imports them
