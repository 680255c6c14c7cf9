#!/bin/sh
# Installs the Debian packages that are named, where this machine lets us: as root, with apt. What
# is not installed is said; whoever needs it says so again, by name.
set -eu
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || exit 0
missing=
for package in "$@"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
    missing="$missing $package"
done
[ -n "$missing" ] || exit 0
echo "installing$missing"
# shellcheck disable=SC2086 — a list of words
{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
  --no-install-recommends $missing >/dev/null; } ||
  echo "not installed:$missing; what needs them will not run" >&2
