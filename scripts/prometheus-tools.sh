#!/bin/sh
# promtool, Prometheus and Alertmanager for the tests of prometheus/: Debian's packages, unpacked into
# the cache and not installed, because an installed one runs as a service.
set -eu
place=${XDG_CACHE_HOME:-$HOME/.cache}/skeletonhunter/prometheus
[ -x "$place/usr/bin/prometheus-alertmanager" ] && exit 0
command -v apt-get >/dev/null || exit 0
mkdir -p "$place"
cd "$place"
echo "downloading Prometheus and Alertmanager"
if { [ "$(id -u)" != 0 ] || apt-get update -qq; } &&
  apt-get download -qq prometheus prometheus-alertmanager >/dev/null 2>&1; then
  for package in prometheus_*.deb prometheus-alertmanager_*.deb; do
    dpkg-deb -x "$package" . && rm "$package"
  done
  # Debian's Alertmanager reads its templates from this folder only.
  templates=usr/share/prometheus/alertmanager
  [ "$(id -u)" != 0 ] || [ -e "/$templates" ] || { mkdir -p "/$templates" && cp "$templates"/*.tmpl "/$templates"; }
else
  echo "not downloaded: prometheus, prometheus-alertmanager; their tests will not run" >&2
fi
