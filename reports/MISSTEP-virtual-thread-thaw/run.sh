#!/usr/bin/env bash
# Usage: run.sh [JDK]. Exit code: 0 where AsyncGetCallTrace has all frames, 1 where it does not, 2 where nothing could be tried.
# Needs a JDK 21 or later and a C++ compiler (CXX, else g++) only.
set -euo pipefail
home=${1:-${JAVA_HOME:?usage: run.sh JDK}}
if ! [ -x "$home/bin/javac" ] || ! [ -e "$home/include/jvmti.h" ]; then
  echo "run.sh: $home has no bin/javac or no include/jvmti.h: name the folder of a whole JDK" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CXX:-g++}" -std=c++17 -O1 -fPIC -shared "-I$home/include" "-I$home/include/linux" "$here/libThawedStack.cpp" \
  -o "$work/libThawedStack.so" || exit 2
"$home/bin/javac" -d "$work" "$here/ThawedStack.java" || exit 2
java=("$home/bin/java" "-Djava.library.path=$work" "-agentpath:$work/libThawedStack.so" -cp "$work" ThawedStack)
"${java[@]}" control || exit 2
"${java[@]}" || exit 1
