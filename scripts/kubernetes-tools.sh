#!/bin/sh
# A Kubernetes API server for the tests marked kubernetes, built from its Go modules, and etcd from
# Debian. Without a container engine, and without a network once it is built: six to eight minutes of
# CPU, 3 GB of modules and build cache, and a binary of 146 MB in the cache.
# Not part of `make test`, because of that time. With --where: only prints where it is, or will be.
set -eu
cd "$(dirname "$0")/.."
version=${KUBERNETES_VERSION:-1.34.4}
place=${XDG_CACHE_HOME:-$HOME/.cache}/skeletonhunter/kube-$version
if [ "${1:-}" = --where ]; then
  echo "$place/kube-apiserver"
  exit 0
fi
scripts/packages.sh etcd-server openssl
[ -x "$place/kube-apiserver" ] && exit 0
if ! command -v go >/dev/null; then
  echo "go is not installed; tests marked kubernetes will not run" >&2
  exit 0
fi
echo "building Kubernetes' API server $version (once)"
rm -rf "$place/source"
mkdir -p "$place/source"
cp scripts/kubernetes/main.go "$place/source"
cd "$place/source"
printf 'module apiserver\ngo 1.24.0\n' >go.mod
# Its own module replaces its libraries by folders beside it; outside they have the versions 0.x.
modules=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"Dir": "\(.*\)",*$/\1/p')
if [ -z "$modules" ]; then
  echo "Kubernetes' modules cannot be downloaded; tests marked kubernetes will not run" >&2
  exit 0
fi
{
  printf 'module apiserver\ngo 1.24.0\nrequire k8s.io/kubernetes v%s\n' "$version"
  awk -v libraries="0.${version#1.}" '/=> \.\/staging/ { print "replace " $1 " => " $1 " v" libraries }' \
    "$modules/go.mod"
} >go.mod
if nice -n 19 go mod tidy >"$place/build.log" 2>&1 &&
  nice -n 19 go build -o "$place/kube-apiserver" . >>"$place/build.log" 2>&1; then
  rm -rf "$place/source"
else
  tail -5 "$place/build.log" >&2
  echo "the API server could not be built; tests marked kubernetes will not run" >&2
fi
