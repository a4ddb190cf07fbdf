"""`--manifest`: a Kubernetes Job that runs the command that it stands on, near the user's server.

A Job whose pod is lost gets another pod with the same volume, which has the record and the list of what is owed, so it
goes on with the run. See the manual of Kubernetes, "Jobs", "Secrets", "Define Environment Variables for a Container":
`$(NAME)` in a container's words is replaced there. libpq takes no password file that a group may read, as files of a
Secret are, so that is copied.
"""

import argparse
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from pgassay import __version__
from pgassay.cli.parser import excluded
from pgassay.errors import UsageError
from pgassay.postgres.attached.attachment import require_no_secret

SECRET = "pgassay-server"
_DSN = "DSN"
_SCRIPT = (
    "test ! -e /secret/pgpass || install -m 600 /secret/pgpass /private/pgpass;"
    ' if test -e "$0"; then exec pgassay resume "$0" --i-own; fi; exec pgassay "$@" --out "$0"'
)
"""`$0` is the run's directory."""
_HERE = (
    "client", "data_dir", "dry_run", "live", "on", "pg_bindir", "restart_command", "snapshots_in",
)  # fmt: skip
"""Options about this machine, or with programs that the image lacks."""
_NAME_LETTERS = 50
_END_S = 300
"""A pod that is to go puts the server back meanwhile."""


def manifest(
    name: str, servers: Mapping[str, Sequence[str]], arguments: argparse.Namespace, words: Sequence[str]
) -> str:
    """What `kubectl apply -f -` takes, for the command with these words, on these servers ("" names one alone).

    Raises `UsageError` for what cannot run there.
    """
    if not servers or "" not in arguments.i_own:
        raise UsageError(
            "--manifest is about the server of --server, and needs your word that it may be changed",
            "add --server DSN --i-own",
        )
    for option in _HERE:
        if getattr(arguments, option, None):
            raise excluded("--manifest", f"--{option.replace('_', '-')}")
    label = re.sub(r"[^a-z0-9]+", "-", f"pgassay-{name}".lower())[:_NAME_LETTERS].strip("-")
    files = _files(arguments)
    for dsn in chain.from_iterable(servers.values()):
        require_no_secret(dsn)
    variables = {each: f"{_DSN}_{each}" if each else _DSN for each in servers}
    keys = {each: f"dsn-{each}" if each else "dsn" for each in servers}
    given = [f"--server={f'{each}=' if each else ''}$({variables[each]})" for each in servers]
    command, *rest = _kept(words, {word: f"/study/{word.rpartition('/')[2]}" for word in files})
    mounts = {"runs": "/runs", "secret": "/secret", "private": "/private", **({"study": "/study"} if files else {})}
    volumes: dict[str, dict[str, Any]] = {
        "runs": {"persistentVolumeClaim": {"claimName": label}},
        "secret": {"secret": {"secretName": SECRET}},
        "private": {"emptyDir": {"medium": "Memory"}},
        **({"study": {"configMap": {"name": label}}} if files else {}),
    }
    environment: dict[str, dict[str, Any]] = {
        "PGPASSFILE": {"value": "/private/pgpass"},
        "PGASSAY_STATE_DIR": {"value": "/runs/state"},
        **{
            variables[each]: {"valueFrom": {"secretKeyRef": {"name": SECRET, "key": keys[each]}}} for each in servers
        },
    }  # fmt: skip
    container = {
        "name": "pgassay",
        "image": f"pgassay:{__version__}",
        "command": ["sh", "-c", _SCRIPT, f"/runs/{arguments.out.name if arguments.out else name}"],
        "args": [command, *given, *rest],
        "env": [{"name": each, **value} for each, value in environment.items()],
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
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}
    texts = {file.name: file.read_text(encoding="utf-8") for file in files.values()}
    objects: list[dict[str, Any]] = [
        _object("v1", "PersistentVolumeClaim", label, spec=claim),
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


def _files(arguments: argparse.Namespace) -> dict[str, Path]:
    """The user's files that the command names, by the words that name them."""
    found = {}
    for option in ("study", "load_script", "load_init"):
        word = getattr(arguments, option, None) or ""
        file = Path(word.partition("@")[0])
        if file.is_file():
            found[word] = file
    if len({file.name for file in found.values()}) < len(found):
        raise UsageError("--manifest takes files of different names", "rename one")
    return found


def _kept(words: Sequence[str], replaced: dict[str, str]) -> Iterator[str]:
    """The command's words but those that are given otherwise there."""
    rest = iter(words)
    for word in rest:
        option = word.partition("=")[0]
        if option in ("--server", "--out"):
            if option == word:
                next(rest)
        elif word != "--manifest":
            yield replaced.get(word, word).replace("$(", "$$(")


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
