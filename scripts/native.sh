#!/bin/sh
# Builds the compiled helper (native/) into .venv; needs a C compiler and Python's headers,
# no network. Without them it says so and leaves all to Python: no failure.
set -eu
cd "$(dirname "$0")/.."
python=.venv/bin/python
place=$($python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
headers=$($python -c 'import sysconfig; print(sysconfig.get_path("include"))')
built=$place/skeletonhunter_native.abi3.so
compiler=${CC:-cc}
if [ "$(uname -s)" != Linux ]; then
  echo "no compiled helper, because this is not Linux"
elif ! command -v "${compiler%% *}" >/dev/null 2>&1 || [ ! -f "$headers/Python.h" ]; then
  echo "no compiled helper, because there is no C compiler or no Python.h; on Debian: apt install gcc python3-dev"
elif [ ! -f "$built" ] || [ -n "$(find native scripts/native.sh -newer "$built" -type f)" ]; then
  # $compiler and $CFLAGS may hold several words. To another name first: an agent may run.
  if $compiler -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra ${CFLAGS:-} -fPIC -shared \
    -fvisibility=hidden -I"$headers" native/src/*.c -lm -o "$built.new"; then
    mv "$built.new" "$built"
  else
    echo "no compiled helper, because it cannot be built here (see above)"
  fi
fi
