#!/usr/bin/env bash
# Compares GetStackTrace with AsyncGetCallTrace in a class initialiser, without any code of Misstep in the JVM.
# Needs a JDK with javac and a C++ compiler; writes to a temporary folder that it removes. jtreg runs the same test.
set -u

usage='usage: run.sh JDK [JVM FLAG...]
  JDK        folder of the JDK to try
  JVM FLAG   flags in place of: -XX:TieredStopAtLevel=1 -Xcomp
             (give -Xint for a run in which nothing is compiled)
exit code: 0 the walkers agree, 1 they differ (both stacks are printed), 2 could not run'

die() {
  echo "run.sh: $*" >&2
  exit 2
}

[ $# -ge 1 ] || die "$usage"
jdk=$(cd "$1" 2>/dev/null && pwd) || die "$1 is not a folder; $usage"
shift
[ $# -gt 0 ] || set -- -XX:TieredStopAtLevel=1 -Xcomp
[ -x "$jdk/bin/javac" ] || die "$jdk has no bin/javac: name the folder of a JDK"
[ -e "$jdk/include/jvmti.h" ] || die "$jdk has no include/jvmti.h: name the folder of a whole JDK"
compiler=${CXX:-g++}
command -v "$compiler" >/dev/null || die "$compiler is not there: install a C++ compiler, or name one in CXX"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || die "cannot find its own folder"
work=$(mktemp -d "${TMPDIR:-/tmp}/walker-test.XXXXXX") || die "cannot make a temporary folder"
trap 'rm -rf "$work"' EXIT
trap 'exit 2' INT TERM

"$compiler" -std=c++17 -O1 -fPIC -shared "-I$jdk/include" "-I$jdk/include/linux" "$here/libWalkerTest.cpp" -o "$work/libWalkerTest.so" ||
  die "the library does not compile"
"$jdk/bin/javac" -nowarn -d "$work" "$here/WalkerTest.java" || die "the test does not compile"
"$jdk/bin/java" -version 2>&1 | tail -n 1
cd "$work" || die "cannot enter $work"
"$jdk/bin/java" "$@" "-Djava.library.path=$work" "-agentpath:$work/libWalkerTest.so" -cp "$work" WalkerTest >output 2>&1
status=$?
cat output
case $status in
  0) echo "passed: the walkers agree" ;;
  1)
    grep -q 'GetStackTrace and AsyncGetCallTrace differ' output || die "the test broke off"
    echo "FAILED: the walkers differ"
    exit 1
    ;;
  *) die "the JVM ended with $status" ;;
esac
