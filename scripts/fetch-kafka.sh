#!/bin/sh
# Apache Kafka's jars for the integration tests into .cache/kafka; does nothing when they are there.
set -eu
cd "$(dirname "$0")/.."
target=.cache/kafka
stamp="$target/.complete"
[ -f "$stamp" ] && cmp -s scripts/kafka/pom.xml "$stamp" && exit 0
if ! command -v java >/dev/null || ! command -v mvn >/dev/null; then
  echo "Apache Kafka's jars are not fetched: java and mvn are needed" >&2
  exit 0
fi
rm -rf "$target"
mkdir -p "$target"
if mvn -q -B -f scripts/kafka/pom.xml dependency:copy-dependencies \
  -DoutputDirectory="$PWD/$target"; then
  cp scripts/kafka/pom.xml "$stamp"
else
  echo "Apache Kafka's jars could not be fetched; tests marked kafka will not run" >&2
fi
