#!/bin/sh
# Fills a folder with what an image has besides its base: scripts/image-root.sh agent|server FOLDER
# Called by the Dockerfile, and without an engine by the test that measures the images. Everything is
# pinned with hashes by uv.lock. UV and PYTHON name another uv and another interpreter.
set -eu
cd "$(dirname "$0")/.."
role=$1
place=$2
python=${PYTHON:-python3}
export UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_PROJECT_ENVIRONMENT="$place/.venv" VIRTUAL_ENV=
mkdir -p "$place"
case $role in
agent)
  "${UV:-uv}" sync --quiet --frozen --no-dev --no-editable --python "$python"
  # Only what the agent imports, in a folder for PYTHONPATH: it runs on its base's interpreter.
  mv "$place/.venv/lib/"python3.*/site-packages "$place/lib"
  rm -rf "$place/.venv"
  (cd "$place/lib" && rm -rf store controller streams localizer api notifier testbed evaluation \
    skeletonhunter _virtualenv.* __pycache__)
  headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
  ${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -fPIC -shared -fvisibility=hidden -s -I"$headers" \
    native/src/*.c -lm -o "$place/lib/skeletonhunter_native.abi3.so"
  ;;
server)
  # chdb is the embedded database of `up` and `demo`; the services have a ClickHouse.
  "${UV:-uv}" sync --quiet --frozen --no-dev --no-editable --python "$python" \
    --extra server --extra kubernetes --no-install-package chdb --no-install-package chdb-core
  # Tests, headers, symbols, and parts of Arrow that are loaded only by who asks for them.
  (cd "$place/.venv/lib/"python3.*/site-packages &&
    rm -rf pyarrow/include pyarrow/src pyarrow/*flight* pyarrow/*_s3*.so* &&
    find . -type d -name tests -prune -exec rm -rf {} + &&
    find . -name '*.so' -not -path '*.libs/*' -exec strip --strip-unneeded {} +)
  ;;
*)
  echo "usage: scripts/image-root.sh agent|server FOLDER" >&2
  exit 2
  ;;
esac
# Compiled here: the root of a container is read-only. The 700 classes of kubernetes are as large again
# when compiled, and only the controller loads them, once.
"$python" -m compileall -q -j 0 -x '/site-packages/kubernetes/' "$place" >/dev/null
