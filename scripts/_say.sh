# What every set-up script shares: messages in PostgreSQL's manner, pip's index for uv, and root's rights
# where this user has them.
# Sourced, never run.

say() { printf 'pgassay: %s\n' "$1" >&2; }

fail() { # fail ERROR HINT
  printf 'pgassay: error: %s\npgassay: hint: %s\n' "$1" "$2" >&2
  exit 2
}

use_index_of_pip() { # use_index_of_pip VENV: uv does not read pip's settings, where a company's mirror is usually named
  local index
  index=$("$1/bin/python" -m pip config get global.index-url 2>/dev/null) || index=${PIP_INDEX_URL:-}
  if [[ -n $index && -z ${UV_DEFAULT_INDEX:-} ]]; then export UV_DEFAULT_INDEX=$index; fi
}

# A sudo that would ask for a password is used only where somebody sits at the terminal to type it.
may_be_root() {
  [[ $(id -u) == 0 ]] && return
  command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 && -z ${CI:-} ]]; }
}

as_root() { if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi; }

can_apt() { command -v apt-get >/dev/null && may_be_root; }

apt_update() { as_root apt-get update -qq >&2; } # its caller's stdout may be an answer

apt_install() {
  say "installing with apt-get: $*"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# install_programs PROGRAM=PACKAGE…: those that are missing, where we may. One that this distribution has not keeps no
# other away. Never fails: the tests of what is still missing are skipped, by name.
install_programs() {
  local each missing=()
  for each; do command -v "${each%%=*}" >/dev/null || missing+=("${each#*=}"); done
  if [[ ${#missing[@]} == 0 ]]; then return; fi
  if can_apt && apt_update; then
    if apt_install "${missing[@]}"; then return; fi
    for each in "${missing[@]}"; do apt_install "$each" || say "without $each: the tests that need it are skipped"; done
  else
    say "without ${missing[*]}: the tests that need them are skipped"
  fi
}
