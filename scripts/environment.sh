#!/bin/sh
# Makes .venv with everything that uv.lock pins; quick when it is there already.
set -eu
cd "$(dirname "$0")/.."
stamp=.venv/.synced
wanted=$(cat pyproject.toml uv.lock scripts/requirements-uv.txt | cksum)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
  exec scripts/native.sh
fi

usable() {
  command -v "$1" >/dev/null 2>&1 &&
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null
}

if [ ! -x .venv/bin/python ] || ! usable .venv/bin/python; then
  found=
  for candidate in ${PYTHON:-} python3.13 python3.12 python3.11 python3 python; do
    if usable "$candidate"; then
      found=$candidate
      break
    fi
  done
  if [ -z "$found" ]; then
    echo "No Python 3.11, 3.12 or 3.13 found; install one, or name it: make PYTHON=/path/to/python3.11" >&2
    exit 2
  fi
  if ! "$found" -c 'import ensurepip' 2>/dev/null; then
    echo "$found cannot make virtual environments; on Debian: apt install python3-venv" >&2
    exit 2
  fi
  echo "making .venv with $found"
  rm -rf .venv
  "$found" -m venv .venv
fi
if ! .venv/bin/uv --version >/dev/null 2>&1; then
  .venv/bin/python -m pip --disable-pip-version-check install -q --require-hashes \
    -r scripts/requirements-uv.txt
fi
fill() {
  UV_PROJECT_ENVIRONMENT=.venv UV_PYTHON_DOWNLOADS=never VIRTUAL_ENV='' \
    .venv/bin/uv sync --quiet --frozen --all-extras --inexact "$@"
}
# uv brings certificates of its own; behind a proxy only this machine's know whom to trust.
fill 2>.venv/.uv.log || fill --system-certs || {
  cat .venv/.uv.log >&2
  exit 2
}
# Where Python may write no bytecode, each process would compile all that it imports: 2 s for a worker.
if .venv/bin/python -c 'import sys; sys.exit(not sys.dont_write_bytecode)'; then
  .venv/bin/python -m compileall -q -j 0 .venv/lib >/dev/null || true # some files are no valid Python
fi
echo "$wanted" > "$stamp"
exec scripts/native.sh
