#!/bin/sh
# Makes var/peers-venv: what .venv has, and the group `peers` that uv.lock pins. .venv stays as it is.
set -eu
cd "$(dirname "$0")/.."
place=var/peers-venv
fill() {
  UV_PROJECT_ENVIRONMENT=$place UV_PYTHON_DOWNLOADS=never VIRTUAL_ENV='' \
    .venv/bin/uv sync --quiet --frozen --all-extras --group peers --python .venv/bin/python "$@"
}
# As in scripts/environment.sh: behind a proxy only this machine's certificates are trusted.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
fill 2>"$log" || fill --system-certs || {
  cat "$log" >&2
  exit 2
}
packages() {
  "$1"/bin/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))'
}
helper=$(packages .venv)/skeletonhunter_native.abi3.so
if [ -f "$helper" ]; then
  cp "$helper" "$(packages $place)"
fi
