#!/usr/bin/env bash
# Builds the workload into the folder given.
set -euo pipefail
if (($# != 1)); then
  echo "usage: $0 DIR" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
races=$here/../../../workloads/races/java
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
bin=${JAVA_HOME:+$JAVA_HOME/bin/}
"${bin}javac" -Xlint:-options --release 8 -d "$classes" "$here"/*.java "$races"/{CheckThenAct,LostUpdate,Publication,Shutdown}.java
mkdir -p "$1"
cp "$here/workload.yaml" "$1"
"${bin}jar" --create --file "$1/small.jar" --date 2026-01-01T00:00:00Z -C "$classes" .
