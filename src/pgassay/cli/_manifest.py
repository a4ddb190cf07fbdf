"""`--manifest`: a Kubernetes Job that runs the command that it is given to, near the user's server.

A Job whose pod is lost gets another pod with the same volume, which has the record and the list of what is owed, so it
goes on with the run. See the manual of Kubernetes, "Jobs", "Secrets", "Define Environment Variables for a Container":
`$(NAME)` in a container's words is replaced there. libpq takes no password file that a group may read, as files of a
Secret are, so that is copied.
"""

import argparse
import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgassay import __version__
from pgassay.cli.parser import excluded
from pgassay.errors import UsageError
from pgassay.postgres.attached.attachment import require_no_secret

if TYPE_CHECKING:
    from pgassay.study.model import Study

SECRET = "pgassay-server"
_DSN = "DSN"
_SCRIPT = (
    "test ! -e /secret/pgpass || install -m 600 /secret/pgpass /private/pgpass;"
    ' if test -e "$0"; then exec pgassay resume "$0" --i-own%s; fi; exec pgassay "$@" --out "$0"'
)
"""`$0` is the run's directory."""
_HERE = (
    "client", "data_dir", "dry_run", "live", "on", "pg_bindir", "restart_command", "snapshots_in",
)  # fmt: skip
"""Options about this machine, or with programs that the image lacks."""
_NAME_LETTERS, _DIGEST_LETTERS = 50, 8
_TEXT_BYTES = 2**20
"""What a ConfigMap takes (Kubernetes, "ConfigMaps")."""
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}
_END_S = 300
"""A pod that is to go puts the server back meanwhile."""


def manifest(
    study: "Study", servers: Mapping[str, Sequence[str]], arguments: argparse.Namespace, words: Sequence[str]
) -> str:
    """What `kubectl apply -f -` takes, for the command with these words, on these servers ("" names one alone).

    Another question has another name, and so another volume: in the same one it would go on with the first one's run.
    Raises `UsageError` for what cannot run there.
    """
    if not servers or "" not in arguments.i_own:
        raise UsageError(
            "--manifest needs --server, and your permission to change that server",
            "add --server DSN --i-own",
        )
    for option in _HERE:
        if getattr(arguments, option, None):
            raise excluded("--manifest", f"--{option.replace('_', '-')}")
    for dsn in chain.from_iterable(servers.values()):
        require_no_secret(dsn)
    variables = {each: f"{_DSN}_{each}" if each else _DSN for each in servers}
    keys = {each: f"dsn-{each}" if each else "dsn" for each in servers}
    files = _files(study, getattr(arguments, "origin", None))
    texts = {path.name: _text(path) for path in files}
    command, *rest = _kept(words, files)
    asked = json.dumps([servers, arguments.out and arguments.out.name, command, rest, texts])
    digest = hashlib.sha256(asked.encode()).hexdigest()[:_DIGEST_LETTERS]
    folder = f"/runs/{arguments.out.name if arguments.out else f'{study.name}-{digest}'}"
    label = re.sub(r"[^a-z0-9]+", "-", f"pgassay-{study.name}".lower())[:_NAME_LETTERS].strip("-") + f"-{digest}"
    mounts = {"runs": "/runs", "secret": "/secret", "private": "/private", **({"study": "/study"} if files else {})}
    volumes: dict[str, dict[str, Any]] = {
        "runs": {"persistentVolumeClaim": {"claimName": label}},
        "secret": {"secret": {"secretName": SECRET}},
        "private": {"emptyDir": {"medium": "Memory"}},
        **({"study": {"configMap": {"name": label}}} if files else {}),
    }
    environment = [
        {"name": "PGPASSFILE", "value": "/private/pgpass"},
        {"name": "PGASSAY_STATE_DIR", "value": "/runs/state"},
        *({"name": variables[each], "valueFrom": {"secretKeyRef": {"name": SECRET, "key": keys[each]}}}
          for each in servers),
    ]  # fmt: skip
    container = {
        "name": "pgassay",
        "image": f"pgassay:{__version__}",
        "command": ["sh", "-c", _SCRIPT % (" --trust" if arguments.trust else ""), folder],
        "args": [command, *(f"--server={f'{each}=' if each else ''}$({variables[each]})" for each in servers), *rest],
        "env": environment,
        "resources": {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
        "volumeMounts": [{"name": each, "mountPath": path} for each, path in mounts.items()],
    }
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": _END_S,
        "securityContext": {"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000, "runAsNonRoot": True},
        "containers": [container],
        "volumes": [{"name": each, **source} for each, source in volumes.items()],
    }
    objects: list[dict[str, Any]] = [
        _object("v1", "PersistentVolumeClaim", label, spec=_CLAIM),
        *([_object("v1", "ConfigMap", label, data=texts)] if texts else []),
        _object("batch/v1", "Job", label, spec={"backoffLimit": 3, "template": {"spec": pod}}),
    ]
    literals = (f"--from-literal={keys[each]}={','.join(dsns)}" for each, dsns in servers.items())
    return "\n".join(
        [
            "# Once, with a line host:port:database:user:password in the file pgpass, if the server asks for one:",
            f"#   {shlex.join(['kubectl', 'create', 'secret', 'generic', SECRET, *literals])} --from-file=pgpass",
            f"# The image is Containerfile's. The record is in the volume of {label}, for a pod of yours to read.",
            "\n---\n".join("\n".join(_yaml(each)) for each in objects),
        ]
    )


def _object(version: str, kind: str, name: str, **more: object) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **more}


def _files(study: "Study", origin: Path | None) -> list[Path]:
    """The user's files that the command names, and those that its study does."""
    from pgassay.lab.arms import bind
    from pgassay.lab.catalogue import every_factor

    catalogue = every_factor()
    bounds = (bound for arm in study.arms for bound in bind(study, arm, catalogue))
    named = {path for each in bounds for path in each.paths}
    found = sorted(named | ({origin.absolute()} if origin else set()))
    for path in found:
        if not path.is_file() or not re.fullmatch(r"[-._a-zA-Z0-9]+", path.name):
            raise UsageError(
                f'--manifest cannot take "{path}" along',
                "a ConfigMap takes files that are there, named by ASCII letters, digits, hyphens, dots and underscores",
            )
    if len({path.name for path in found}) < len(found):
        raise UsageError("--manifest takes files of different names", "rename one")
    if sum(path.stat().st_size for path in found) > _TEXT_BYTES:
        raise UsageError(
            f"--manifest cannot take files of more than 1 MiB along: {', '.join(path.name for path in found)}",
            "have large data in a database there, and copy that: --set init.copy_database=NAME",
        )
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f'"{path}" is not text, and a ConfigMap takes text', "pg_dump without -F writes one") from None


def _kept(words: Sequence[str], files: Iterable[Path]) -> list[str]:
    """The command's words but those that are given otherwise there; files are named by where they are there."""
    kept, unnamed, rest = [], set(files), iter(words)
    there = {path: f"/study/{path.name}" for path in unnamed}
    for word in rest:
        option = word.partition("=")[0]
        if option in ("--server", "--out"):
            if option == word:
                next(rest)
        elif word != "--manifest":
            parts = re.split("([=,@])", word)
            unnamed -= {Path(part).absolute() for part in parts}
            kept.append("".join(there.get(Path(part).absolute(), part) for part in parts).replace("$(", "$$("))
    if unnamed:
        raise UsageError(
            f"--manifest cannot take along what no word of the command names: {', '.join(sorted(map(str, unnamed)))}",
            "name it there: --set load.script=FILE, or --set load.init=FILE",
        )
    return kept


def _yaml(value: dict[str, Any] | list[Any], indent: str = "") -> Iterator[str]:
    """Block style; scalars as JSON, which YAML has, too."""
    pairs = value.items() if isinstance(value, dict) else ((None, each) for each in value)
    for key, each in pairs:
        head = f"{indent}{key}:" if key is not None else f"{indent}-"
        if not isinstance(each, dict | list):
            yield f"{head} {json.dumps(each, ensure_ascii=False)}"
        elif key is not None:
            yield head
            yield from _yaml(each, f"{indent}  ")
        else:
            first, *more = _yaml(each, f"{indent}  ")
            yield f"{head} {first.lstrip()}"
            yield from more
