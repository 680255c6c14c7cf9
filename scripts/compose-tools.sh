#!/bin/sh
# compose-check for the test of docker-compose.yml: the library that Docker Compose loads files with,
# as a program, from its Go modules. Half a minute, once. With --where: only prints where it is.
set -eu
cd "$(dirname "$0")/compose"
place=${XDG_CACHE_HOME:-$HOME/.cache}/skeletonhunter/compose
if [ "${1:-}" = --where ]; then
  echo "$place/compose-check"
  exit 0
fi
[ -x "$place/compose-check" ] && exit 0
if ! command -v go >/dev/null; then
  echo "go is not installed: docker-compose.yml will not be loaded as Docker Compose does" >&2
  exit 0
fi
mkdir -p "$place"
GOFLAGS=-mod=readonly go build -o "$place/compose-check" . ||
  echo "compose-check cannot be built: docker-compose.yml will not be loaded as Docker Compose does" >&2
