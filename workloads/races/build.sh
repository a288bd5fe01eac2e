#!/usr/bin/env bash
# Compiles the planted races into the folder given: static C programs, and classes for JDK 8 and later in its folder java.
set -euo pipefail
if (($# != 1)); then
  echo "usage: $0 DIR" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/java"
for source in "$here"/c/*.c; do
  name=$(basename "$source" .c)
  cc -std=gnu11 -O1 -Wall -Wextra -Werror -D_GNU_SOURCE -static -pthread "$source" -o "$1/$name"
done
"${JAVA_HOME:+$JAVA_HOME/bin/}javac" -Xlint:-options --release 8 -d "$1/java" "$here"/java/*.java
