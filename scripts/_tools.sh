# The tools that set-up stands on: a Python, its ensurepip, a C linker, Rust. Sourced, never run.
# All that is missing is told, or installed, at once: nobody should meet three errors in three runs.

is_new_python() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
  local name
  for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
    if is_new_python "$name"; then
      # The real program: a version manager's shim could point elsewhere tomorrow.
      "$name" -c 'import os, sys; print(os.path.realpath(sys.executable))'
      return
    fi
  done
  fail "no Python 3.11 or newer found" "install one, or name it: make setup PYTHON=/path/to/python3"
}

need_rust() {
  local wanted found hint
  wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
  hint="install Rust $wanted or newer: rustup (https://rustup.rs), or your distribution's packages"
  command -v cargo >/dev/null || fail "no cargo found" "$hint"
  found=$(rustc --version | cut -d' ' -f2) || fail "rustc does not run" "$hint"
  [[ $(printf '%s\n' "$wanted" "$found" | sort -V | head -1) == "$wanted" ]] || fail "Rust $found is too old" "$hint"
}

need_packages() { # need_packages PYTHON
  local missing=() what=()
  # Debian keeps venv's other half in a package of its own, named after the minor version. uv can do without it.
  if ! "$1" -c 'import ensurepip' 2>/dev/null && ! command -v uv >/dev/null; then
    missing+=("$("$1" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')")
    what+=("Python's module ensurepip")
  fi
  if ! command -v cc >/dev/null; then # Rust links with the C compiler
    missing+=(gcc libc6-dev)
    what+=("a C compiler (cc)")
  fi
  if [[ ${#missing[@]} == 0 ]]; then return; fi
  can_apt || fail "missing: $(printf '%s, ' "${what[@]}" | sed 's/, $//')" "as root: apt-get install ${missing[*]}"
  apt_update
  apt_install "${missing[@]}"
}
