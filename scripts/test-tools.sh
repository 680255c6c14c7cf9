#!/bin/sh
# Installs what some tests need beyond Python, where this machine lets us: Debian packages as root,
# Apache Kafka's jars with java and mvn. What is still missing is listed by the tests themselves.
set -eu
cd "$(dirname "$0")/.."
packages="iproute2 nftables iputils-ping traceroute ethtool chromium"
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  missing=
  for package in $packages; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
      missing="$missing $package"
  done
  if [ -n "$missing" ]; then
    echo "installing$missing"
    # shellcheck disable=SC2086 — a list of words
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
      --no-install-recommends $missing >/dev/null; } ||
      echo "not installed:$missing; tests that need them will not run" >&2
  fi
fi
scripts/fetch-kafka.sh
