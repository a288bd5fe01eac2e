#!/usr/bin/env bash
# Runs clang-tidy, with thread safety analysis, on the agent's sources. A file that passed is not analysed again as long as the
# analyser would see the same: a stamp in the user's cache has the digest of the preprocessed text (with its comments: some switch
# a rule off), the rules, this script and the analyser's version.
#
# Usage: deploy/setup/tidy.sh BUILD   BUILD has the compile_commands.json of CMake
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:?usage: deploy/setup/tidy.sh BUILD}
stamps=${XDG_CACHE_HOME:-$HOME/.cache}/misstep/tidy
mkdir -p "$stamps"
find "$stamps" -type f -mtime +30 -delete
rules=$({ clang-tidy-19 --version && cat .clang-tidy "$0"; } | sha256sum)

one() { # one FILE
  local flags text stamp
  flags=$(sed -n "s|^ *\"command\": \"[^ ]* \(.*\) -o [^ ]* -c .*/$1\",\$|\1|p" "$build/compile_commands.json" | head -n 1)
  [ -n "$flags" ] || {
    echo "$build/compile_commands.json has no command for $1: run cmake again" >&2
    return 1
  }
  # shellcheck disable=SC2086 # several flags
  text=$(clang++-19 $flags -w -E -P -C "$1" && cat "$1")
  stamp=$stamps/$(sha256sum <<<"$rules$1$text" | cut -d ' ' -f 1)
  [ -e "$stamp" ] || clang-tidy-19 --quiet --extra-arg=-Wthread-safety --extra-arg=-Werror=thread-safety -p "$build" "$1"
  touch "$stamp"
}
export -f one
export build stamps rules
git ls-files 'agent/native/src/*.cpp' | xargs -P "$(nproc)" -I{} bash -euo pipefail -c 'one {}'
