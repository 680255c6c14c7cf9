#!/bin/sh
# Installs what some tests need beyond Python, where this machine lets us: Debian packages as root,
# Apache Kafka's jars with java and mvn. What is still missing is listed by the tests themselves.
set -eu
cd "$(dirname "$0")/.."
scripts/packages.sh iproute2 nftables iputils-ping traceroute ethtool openvswitch-switch chromium systemd
scripts/packages.sh slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge
scripts/prometheus-tools.sh
scripts/openapi-tools.sh
scripts/guest-tools.sh
scripts/fetch-kafka.sh
scripts/compose-tools.sh
