#!/bin/sh
# What the tests marked kubernetes need: an API server, controllers, scheduler, kwok (nodes that only
# pretend), kustomize and helm, built from their Go modules, and etcd from Debian. Without a container
# engine, and without a network once they are built. The API server takes six to eight minutes of CPU, 3 GB
# of modules and build cache; the other programs four minutes more; 480 MB in the cache.
# Not part of `make test`, because of that time. With --where: only prints where the API server is, or
# will be.
set -eu
cd "$(dirname "$0")/.."
version=${KUBERNETES_VERSION:-1.34.4}
place=${XDG_CACHE_HOME:-$HOME/.cache}/skeletonhunter/kube-$version
if [ "${1:-}" = --where ]; then
  echo "$place/kube-apiserver"
  exit 0
fi
scripts/packages.sh etcd-server openssl
tools=$(dirname "$place")/kube-tools
programs="kube-apiserver kube-controller-manager kube-scheduler"
complete=yes
for each in $programs kwok kwok-stages.yaml; do [ -e "$place/$each" ] || complete=no; done
[ "$complete" = yes ] && [ -x "$tools/kustomize" ] && [ -x "$tools/helm" ] &&
  [ -e "$tools/crds/complete" ] && exit 0
if ! command -v go >/dev/null; then
  echo "go is not installed; tests marked kubernetes will not run" >&2
  exit 0
fi
for tool in kustomize=sigs.k8s.io/kustomize/kustomize/v5 helm=helm.sh/helm/v3/cmd/helm; do
  name=${tool%%=*}
  [ ! -x "$tools/$name" ] || continue
  echo "building $name (once)"
  mkdir -p "$tools"
  (cd scripts/kubernetes/tools &&
    GOFLAGS=-mod=readonly nice -n 19 go build -ldflags '-s -w' -o "$tools/$name" "${tool#*=}") ||
    echo "$name could not be built; tests marked kubernetes that need it will not run" >&2
done
# Definitions of operators' objects, as their modules hold them. Strimzi is no Go module.
if [ ! -e "$tools/crds/complete" ]; then
  mkdir -p "$tools/crds"
  for each in \
    github.com/prometheus-operator/prometheus-operator@v0.85.0:example/prometheus-operator-crd/monitoring.coreos.com_podmonitors \
    github.com/prometheus-operator/prometheus-operator@v0.85.0:example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules \
    github.com/kedacore/keda/v2@v2.18.1:config/crd/bases/keda.sh_scaledobjects; do
    module=$(cd scripts/kubernetes/tools && go mod download -json "${each%%:*}" | sed -n 's/.*"Dir": "\(.*\)",*$/\1/p')
    [ -n "$module" ] && cp "$module/${each#*:}.yaml" "$tools/crds" && continue
    echo "${each%%:*} cannot be downloaded; tests of its objects will not run" >&2
    exit 0
  done
  chmod u+w "$tools"/crds/*
  touch "$tools/crds/complete"
fi
mkdir -p "$place"
# kwok, and when it says what of nodes and pods: its module's own stages.
if [ ! -e "$place/kwok-stages.yaml" ]; then
  echo "building kwok (once)"
  kwok=sigs.k8s.io/kwok
  stages=$(cd scripts/kubernetes/kwok && go mod download -json $kwok | sed -n 's/.*"Dir": "\(.*\)",*$/\1/p')/kustomize/stage
  if (cd scripts/kubernetes/kwok &&
    GOFLAGS=-mod=readonly nice -n 19 go build -ldflags '-s -w' -o "$place/kwok" $kwok/cmd/kwok); then
    for each in node/fast/node-initialize pod/fast/pod-ready pod/fast/pod-delete; do
      cat "$stages/$each.yaml"
      echo ---
    done >"$place/kwok-stages.new"
    mv "$place/kwok-stages.new" "$place/kwok-stages.yaml"
  else
    echo "kwok could not be built; tests of roll-outs will not run" >&2
  fi
fi
left=
for each in $programs; do [ -x "$place/$each" ] || left="$left $each"; done
[ -n "$left" ] || exit 0
echo "building$left of Kubernetes $version (once)"
source=$place/source
rm -rf "$source"
mkdir -p "$source"
cp -R scripts/kubernetes/programs/. "$source"
cd "$source"
printf 'module programs\ngo 1.24.0\n' >go.mod
# Its own module replaces its libraries by folders beside it; outside they have the versions 0.x.
modules=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"Dir": "\(.*\)",*$/\1/p')
if [ -z "$modules" ]; then
  echo "Kubernetes' modules cannot be downloaded; tests marked kubernetes will not run" >&2
  exit 0
fi
{
  printf 'module programs\ngo 1.24.0\nrequire k8s.io/kubernetes v%s\n' "$version"
  awk -v libraries="0.${version#1.}" '/=> \.\/staging/ { print "replace " $1 " => " $1 " v" libraries }' \
    "$modules/go.mod"
} >go.mod
nice -n 19 go mod tidy >"$place/build.log" 2>&1 || left=
for each in $left; do
  nice -n 19 go build -ldflags '-s -w' -o "$place/$each" "./$each" >>"$place/build.log" 2>&1 || break
done
for each in $programs; do
  [ -x "$place/$each" ] && continue
  tail -5 "$place/build.log" >&2
  echo "$each could not be built; tests marked kubernetes that need it will not run" >&2
  exit 0
done
rm -rf "$source"
