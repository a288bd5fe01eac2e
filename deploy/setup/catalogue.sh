#!/usr/bin/env bash
# Fills the catalogue: JDK 17 and 25 (a system folder where there is one, else Debian's packages of another suite) and every
# built workload. Entries that are there already are left alone, unless their files changed.
set -euo pipefail
cd "$(dirname "$0")/../.."
PATH=$PWD/build/bin:$PATH

system_jdk() { # prints the folder of an installed JDK with the given feature version and a compiler
  local dir
  for dir in /usr/lib/jvm/*; do
    if [ -x "$dir/bin/javac" ] && [ ! -L "$dir" ] &&
      grep -qE "^JAVA_VERSION=\"$1(\.|\")" "$dir/release" 2>/dev/null; then
      echo "$dir"
      return
    fi
  done
}

for feature in 17 25; do
  misstep jdk show "jdk$feature" >/dev/null 2>&1 && continue
  source=$(system_jdk $feature)
  misstep jdk add "jdk$feature" "${source:-debian:openjdk-$feature}"
done
misstep workload add build/workloads >/dev/null
misstep jdk list
misstep workload list
