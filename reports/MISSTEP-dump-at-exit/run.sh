#!/usr/bin/env bash
# Usage: run.sh [JDK]. Exit code: 0 where every JVM ends, 1 where one does not, 2 where nothing could be tried. Needs a JDK 17 or
# later only.
set -euo pipefail
home=${1:-${JAVA_HOME:?usage: run.sh JDK}}
[ -x "$home/bin/javac" ] || {
  echo "run.sh: $home has no bin/javac: name the folder of a JDK" >&2
  exit 2
}
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
"$home/bin/javac" -d "$classes" "$(dirname "$0")/DumpAtExit.java" || exit 2
for how in control threads jmx; do
  "$home/bin/java" -cp "$classes" DumpAtExit "$how" || exit 1
done
