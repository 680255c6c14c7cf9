#!/bin/sh
# What the RDMA guest is made of: Debian packages, where this machine lets us install them, and the
# kernel's package into the cache, after which neither needs a network.
set -eu
cd "$(dirname "$0")/.."
scripts/packages.sh qemu-system-x86 busybox-static iproute2 kmod util-linux nftables python3 \
  python3-pyverbs ibverbs-providers ibverbs-utils
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null &&
  ! apt-cache show linux-image-amd64 >/dev/null 2>&1; then
  apt-get update -qq || true # without lists; what is missing then is said below
fi
.venv/bin/python -m testbed.rdma_vm || echo "tests marked rdma will not run" >&2
