#!/bin/sh
# The compiled helper under AddressSanitizer and UndefinedBehaviorSanitizer: damaged datagrams for
# SECONDS (60), then the tests of sockets and engines. Leaves .venv as it was.
set -eu
cd "$(dirname "$0")/.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
flags="-std=c11 -D_GNU_SOURCE -g -O1 -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"
core="native/src/sha256.c native/src/sha256_x86.c native/src/packet.c native/src/probes.c native/src/rate_limit.c native/src/recent_flows.c native/src/send_delay.c native/src/control.c native/src/sockets.c"
# shellcheck disable=SC2086  # lists of words
${CC:-cc} $flags $core native/checks/fuzz.c -o "$place/fuzz"
"$place/fuzz" "${1:-60}"
headers=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("include"))')
# shellcheck disable=SC2086
${CC:-cc} $flags -fPIC -shared -I"$headers" native/src/*.c -lm -o "$place/skeletonhunter_native.abi3.so"
preload=$(${CC:-cc} -print-file-name=libasan.so)
LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$place PYTHONMALLOC=malloc \
  .venv/bin/python -m pytest -q -p no:cacheprovider \
  tests/probers/net tests/probers/probing tests/probers/process tests/probers/publishing/encoding \
  tests/schemas/compiled tests/schemas/test_identity.py tests/schemas/wire/test_alike_messages.py tests/schemas/wire/text \
  tests/localizer/fabric/test_key_index.py tests/localizer/fabric/incidence/test_segment_paths.py tests/localizer/strategies/test_atoms.py tests/streams/windowing/test_panes.py tests/streams/windowing/test_compiled_panes.py
