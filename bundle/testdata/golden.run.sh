#!/usr/bin/env bash
# Reproduces finding F0123456789ab: gst-asgct: the stack is cut off at <clinit> under a.Main.run
# Needs bash, coreutils and a JDK; sends nothing anywhere; writes to a temporary folder that it removes (-k keeps it).
set -u

usage='usage: run.sh [-n TRIES] [-f] [-k] [JDK]
  JDK        folder of the JDK to try (default: $JAVA_HOME, else the java on the PATH)
  -n TRIES   how often to try (default 10)
  -f         end at the first hit
  -k         keep the folder of each try and print its path
exit code: 0 reproduced, 1 not reproduced, 2 could not run'

die() {
  echo "run.sh: $*" >&2
  exit 2
}

tries=10
first=
keep=
while getopts 'n:fkh' option; do
  case $option in
    n) tries=$OPTARG ;;
    f) first=1 ;;
    k) keep=1 ;;
    h)
      echo "$usage"
      exit 0
      ;;
    *)
      echo "$usage" >&2
      exit 2
      ;;
  esac
done
shift $((OPTIND - 1))
[[ $tries =~ ^[1-9][0-9]{0,5}$ ]] || die "-n $tries: expected a number from 1"
[ $# -le 1 ] || die "$usage"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || die "cannot find its own folder"
if [ $# -eq 1 ]; then
  java=$1/bin/java
elif [ -n "${JAVA_HOME:-}" ]; then
  java=$JAVA_HOME/bin/java
else
  java=$(command -v java) || die "no JDK: name its folder, or set JAVA_HOME"
fi
[ -x "$java" ] || die "$java is not there: name the folder of a JDK, the one that has bin/java in it"
java=$(readlink -f "$java")

work=$(mktemp -d "${TMPDIR:-/tmp}/misstep-run.XXXXXX") || die "cannot make a temporary folder"
cleanup() { [ -n "$keep" ] || rm -rf "$work"; }
trap cleanup EXIT
trap 'exit 2' INT TERM
mkdir "$work/home" || die "cannot write to $work"

# Nothing of the caller's environment (JAVA_TOOL_OPTIONS, CLASSPATH, LD_PRELOAD, …) reaches the JVM.
clean=(env -i PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 TZ=UTC "HOME=$work/home")

identity=$("${clean[@]}" "$java" -Xinternalversion 2>&1) || die "$java does not run: $identity"
version=$("${clean[@]}" "$java" -version 2>&1) || die "$java does not run: $version"
feature=${version#*version \"}
feature=${feature#1.}
feature=${feature%%[!0-9]*}
[ -n "$feature" ] || die "cannot read the version of $java from: $version"
echo "JDK: ${identity%%$'\n'*}"
[ "$feature" -ge 17 ] || die "the workload needs JDK 17 or later, $java is $feature"

# The agent adds a field to this JDK's own java.lang.Thread.
patch=$work/patch.jar
"${clean[@]}" "$java" -cp "$here/agent/misstep-agent.jar" misstep.agent.Patch "$patch" >"$work/patch.log" 2>&1 && [ -s "$patch" ] ||
  die "cannot prepare the agent for this JDK: $(tail -n 3 "$work/patch.log")"
if [ "$feature" -ge 9 ]; then
  patched="--patch-module=java.base=$patch"
else
  patched="-Xbootclasspath/p:$patch"
fi

# run starts one JVM with the files of its try below $try.
run() {
  local out=$try/agent scratch=$try/tmp
  local command=("$java"
    '-Xmx128m'
    '-Xcomp'
    "-XX:ErrorFile=$try/hs_err.log" -XX:+PerfDisableSharedMem "-Duser.home=$work/home")
  if [ "$feature" -ge 9 ]; then
    command+=(-XX:-CreateCoredumpOnCrash)
  fi
  command+=("$patched"
    "-agentpath:$here/agent/libmisstep.so="'out='"$out"',seed=42,methods=1,gst-asgct=1'
    "-javaagent:$here/agent/misstep-agent.jar")
  command+=(
    '-Djava.io.tmpdir='"$scratch"
    '-cp'
    "$here"'/workload/lib/clinit.jar'
    'a.Main'
    'it'\''s 5'
  )
  mkdir -p "$out" "$scratch" "$try/work"
  printf '%q ' "${command[@]}" >"$try/command"
  (
    ulimit -c 0
    cd "$try/work" || exit 125
    # Only the end of the output is kept.
    timeout -k 10 60 "${clean[@]}" "TMPDIR=$scratch" "JAVA_HOME=${java%/bin/java}" "${command[@]}" 2>&1 | tail -c 1000000 >"$try/output"
    exit "${PIPESTATUS[0]}"
  )
}

# place prints the place of the crash from the head of the error file: the problematic frame, or an assertion.
place() {
  local LC_ALL=C line next=
  while IFS= read -r line; do
    if [ -n "$next" ]; then
      echo "$line"
      return
    fi
    case $line in
      '# Problematic frame'*) next=1 ;;
      '#  Internal Error'*)
        echo "$line"
        next=1
        ;;
    esac
  done <"$try/hs_err.log"
}

# A record of the finding matches each of "like" and none of "unlike".
like=(
  '"check": ?"gst-asgct"'
  '"kind": ?"truncated"'
  '"<clinit>"'
)
unlike=()

recorded() {
  local pattern
  for pattern in "${like[@]}"; do
    [[ $1 =~ $pattern ]] || return 1
  done
  for pattern in ${unlike[@]+"${unlike[@]}"}; do
    [[ $1 =~ $pattern ]] && return 1
  done
  return 0
}

# hit reports whether the try showed the finding.
hit() {
  local record LC_ALL=C # records are bytes, in "recorded" too
  [ -s "$try/agent/mismatches.jsonl" ] || return 1
  while IFS= read -r record; do
    recorded "$record" && return 0
  done <"$try/agent/mismatches.jsonl"
  return 1
}

# hung reports whether the try's time ran out: 124 from timeout; 137 if it had to kill, which the kernel also does when memory is
# short, but at any time.
hung() { [ "$status" -eq 124 ] || { [ "$status" -eq 137 ] && [ "$took" -ge 60 ]; }; }

hits=0
counted=0
for ((number = 1; number <= tries; number++)); do
  try=$work/try-$number
  mkdir "$try" || die "cannot write to $work"
  began=$SECONDS
  run
  status=$?
  took=$((SECONDS - began))
  if hit; then
    hits=$((hits + 1))
    counted=$((counted + 1))
    echo "try $number of $tries: reproduced"
  elif [ ! -s "$try/agent/status.bin" ]; then
    echo "try $number of $tries: void, the agent did not start: $(tail -n 1 "$try/output")"
  elif [ -s "$try/hs_err.log" ]; then
    counted=$((counted + 1))
    echo "try $number of $tries: another crash: $(place | tail -n 1)"
    head -n 40 "$try/hs_err.log" >&2
  elif hung; then
    counted=$((counted + 1))
    echo "try $number of $tries: no end within 60 s"
  elif [[ $status =~ ^(132|133|134|135|136|139|159)$ ]]; then
    counted=$((counted + 1))
    echo "try $number of $tries: another crash: signal $((status - 128)), without an error file"
  elif [ "$status" -ne 0 ]; then
    echo "try $number of $tries: void, the workload failed with exit code $status: $(tail -n 1 "$try/output")"
  else
    counted=$((counted + 1))
    echo "try $number of $tries: not reproduced"
  fi
  if [ -n "$keep" ]; then
    echo "  files: $try"
  else
    rm -rf "$try"
  fi
  [ -z "$first" ] || [ "$hits" -eq 0 ] || break
done

echo "$hits of $counted tries reproduced finding F0123456789ab"
[ "$counted" -gt 0 ] || die "no try proved anything"
[ "$hits" -gt 0 ]
