#!/usr/bin/env bash
# Fetches the profilers that JDKs do not contain from Maven Central, verifies them by their digests, and puts their libraries into
# build/profilers. Safe to run again; does nothing if nothing is missing.
#
# Usage: deploy/setup/profilers.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
target=build/profilers

version=4.1
digest=5535baa56133628cfffe2f05ca9bfef1fae3d5abe49835447262b1c6da4a9582
case $(uname -m) in
x86_64) platform=linux-x64 ;;
aarch64) platform=linux-arm64 ;;
*)
  echo "profilers: async-profiler $version has no library for $(uname -m): campaigns cannot use it here" >&2
  exit 0
  ;;
esac
stamp=$target/.async-profiler-$version
[ ! -e "$stamp" ] || exit 0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mvn -q -B -ntp dependency:copy -Dartifact="tools.profiler:async-profiler:$version" -DoutputDirectory="$scratch" >&2
jar=$scratch/async-profiler-$version.jar
echo "$digest  $jar" | sha256sum --check --status || {
  echo "profilers: async-profiler $version from Maven Central is not the file that was reviewed:" >&2
  echo "  expected sha256 $digest, got $(sha256sum <"$jar" | cut -d' ' -f1)" >&2
  exit 1
}
(cd "$scratch" && "${JAVA_HOME:+$JAVA_HOME/bin/}jar" xf "$jar" "$platform/libasyncProfiler.so")
mkdir -p "$target"
install -m 755 "$scratch/$platform/libasyncProfiler.so" "$target/libasyncProfiler.so"
rm -f "$target"/.async-profiler-*
touch "$stamp"
