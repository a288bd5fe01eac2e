#!/usr/bin/env bash
# Runs a step of the set-up. What it prints goes to build/setup/NAME.log; here appear the step's name, how long it has taken so far,
# and, if it fails, the end of the log. build/setup.json lists the steps: name, start (seconds since 1970), seconds, exit code.
#
# Usage: deploy/setup/step.sh NAME COMMAND...
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
name=${1:?usage: deploy/setup/step.sh NAME COMMAND...}
shift
mkdir -p build/setup
log=build/setup/$name.log
start=${EPOCHREALTIME/,/.} # some locales write a comma

seconds() { LC_ALL=C awk -v a="$start" -v b="${EPOCHREALTIME/,/.}" 'BEGIN { printf "%.1f", b - a }'; }
say() { printf 'setup: %-12s %s\n' "$name" "$*" >&2; }

# last is the last line of the log that says something, without colours.
last() { tail -n 20 "$log" | sed 's/\x1b\[[0-9;]*m//g' | tr -cd '[:print:]\n' | grep -v '^ *$' | tail -n 1 | cut -c1-80; }

# Nothing is said about a step that has nothing to do.
watch() {
  sleep 1 >&- 2>&- # no pipe of ours stays open in it
  say "began"
  while sleep 30 >&- 2>&-; do say "$(seconds) s so far: $(last)"; done
}
watch &
watcher=$!
trap 'kill $watcher 2>/dev/null' EXIT

code=0
"$@" >"$log" 2>&1 || code=$?
took=$(seconds)
kill $watcher 2>/dev/null
wait $watcher 2>/dev/null

printf '{"name": "%s", "start": %s, "seconds": %s, "exit": %d}\n' "$name" "${start%.*}" "$took" "$code" >"build/setup/$name.json"
(
  flock 9
  { printf '[\n' && cat build/setup/*.json | sed '$!s/$/,/' && printf ']\n'; } >build/setup.json.new &&
    mv build/setup.json.new build/setup.json
) 9>build/setup/.lock
if [ $code != 0 ]; then
  say "failed after $took s; the end of $log:"
  tail -n 40 "$log" >&2
elif [ "${took%.*}" -ge 1 ]; then
  say "done in $took s"
fi
exit $code
