#!/bin/sh
# openapi-python-client for tests/api/clients, in an environment of its own in the cache: what it
# needs does not resolve together with what this project pins.
set -eu
version=0.29.1
place=${XDG_CACHE_HOME:-$HOME/.cache}/skeletonhunter/openapi-python-client-$version
[ -x "$place/bin/openapi-python-client" ] && exit 0
cd "$(dirname "$0")/.."
echo "installing openapi-python-client"
.venv/bin/uv venv -q --clear --python .venv/bin/python "$place" &&
  .venv/bin/uv pip install -q --python "$place/bin/python" "openapi-python-client==$version" ||
  { rm -rf "$place"; echo "not installed: openapi-python-client; its test will not run" >&2; }
