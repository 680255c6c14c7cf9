#!/bin/sh
# Makes var/peers-venv: what .venv has, and the group `peers` that uv.lock pins; and, with Java,
# var/peers-flink-venv, since PyFlink needs an older pyarrow than ours. .venv stays as it is.
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
flink=var/peers-flink-venv
if command -v java >/dev/null 2>&1 && [ ! -x $flink/bin/python ]; then
  .venv/bin/uv venv --quiet --python .venv/bin/python $flink.new
  add() {
    .venv/bin/uv pip install --quiet --python $flink.new/bin/python apache-flink==2.3.0 "$@"
  }
  if add 2>"$log" || add --system-certs; then
    mv $flink.new $flink
  else
    echo "without Flink, which cannot be installed here" >&2
  fi
fi
