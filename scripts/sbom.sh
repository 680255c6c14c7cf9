#!/bin/sh
# Writes what the images hold, as uv.lock pins it, in CycloneDX: scripts/sbom.sh [FOLDER], default var.
set -eu
cd "$(dirname "$0")/.."
place=${1:-var}
mkdir -p "$place"
export_to() {
  .venv/bin/uv export --quiet --frozen --no-dev --no-emit-project --format cyclonedx1.5 "$@" >/dev/null
}
export_to --output-file "$place/sbom-agent.json"
export_to --output-file "$place/sbom-server.json" --extra server --extra kubernetes \
  --no-emit-package chdb --no-emit-package chdb-core
echo "$place/sbom-agent.json $place/sbom-server.json"
