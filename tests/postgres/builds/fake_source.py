"""A source tree as small as can be: a `configure` and Makefiles in PostgreSQL's shape that build shell scripts.

It counts its builds in a file, so that a test can tell that no compiler ran.
"""

import os
import shutil
import stat
from pathlib import Path

import pytest

from pgassay.host.runner import LocalRunner, SystemClock
from pgassay.interfaces.places import Account
from pgassay.postgres.builds.builder import Builder, Notify, Toolchain, notify_nobody
from pgassay.postgres.builds.cache import Cache
from pgassay.postgres.builds.sources import Sources
from pgassay.postgres.find import Finder

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="no make on this machine")

CONFIGURE = """#!/bin/sh
PACKAGE_VERSION='16.4'
echo configured >>{count}
for word; do
  case $word in
    --prefix=*) prefix=${{word#--prefix=}};;
    --with-blocksize=*) block=${{word#*=}};;
  esac
done
{extra}
mkdir -p src
cp -r {tree}/src/backend src/
printf 'prefix=%s\\nblock=%s\\n' "$prefix" "$block" >src/backend/sizes.mk
"""
MAKEFILE = """include sizes.mk
generated-headers:
install:
\ttouch one.o two.o
\tmkdir -p $(DESTDIR)$(prefix)/bin
\tfor program in postgres initdb pgbench; do \\
\t  printf '#!/bin/sh\\necho "postgres (PostgreSQL) 16.4, $(block)"\\n' >$(DESTDIR)$(prefix)/bin/$$program; \\
\t  chmod +x $(DESTDIR)$(prefix)/bin/$$program; done
"""


def make_tree(folder: Path, *, configure: str = "", makefile: str = MAKEFILE) -> Path:
    """The tree in `folder/source`; `configure` is shell that runs inside it."""
    tree = folder / "source"
    backend = tree / "src" / "backend"
    (backend / "parser").mkdir(parents=True)
    (backend / "parser" / "gram.c").touch()
    (backend / "main.c").write_text("int main;\n")
    (backend / "Makefile").write_text(makefile)
    script = tree / "configure"
    script.write_text(CONFIGURE.format(count=folder / "count", extra=configure, tree='"$(dirname "$0")"'))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return tree


def builds_made(folder: Path) -> int:
    """How often the tree was configured."""
    count = folder / "count"
    return len(count.read_text().splitlines()) if count.exists() else 0


def make_builder(folder: Path, notify: Notify = notify_nobody) -> Builder:
    """A builder that trusts what it built, as ourselves, with its cache in `folder/cache`."""
    account, clock = Account(None, os.getuid(), os.getgid()), SystemClock()
    runner = LocalRunner(account)
    cache = Cache(folder / "cache")
    return Builder(
        cache=cache,
        runner=runner,
        clock=clock,
        account=account,
        finder=Finder(runner, clock, account, {}),
        sources=Sources(cache, runner, entries={}),
        toolchain=Toolchain(runner, {"CC": "true"}),
        jobs=1,
        notify=notify,
        verify=lambda installation, recipe, runner: None,
    )
