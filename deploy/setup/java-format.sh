#!/usr/bin/env bash
# Checks or fixes the format of all Java sources with google-java-format (1.28.0: newer ones crash on JDK 17), from Maven Central.
#
# Usage: deploy/setup/java-format.sh --check|--fix
set -euo pipefail
cd "$(dirname "$0")/../.."
mode=${1:?usage: deploy/setup/java-format.sh --check|--fix}
version=1.28.0
jar=$PWD/build/tools/google-java-format-$version.jar
if [ ! -e "$jar" ]; then
  mkdir -p build/tools
  mvn -q -B -ntp dependency:copy -Dartifact=com.google.googlejavaformat:google-java-format:$version:jar:all-deps \
    -DoutputDirectory=build/tools -Dmdep.useBaseVersion=true >&2
  mv "build/tools/google-java-format-$version-all-deps.jar" "$jar"
fi
exports=()
for package in api code file main parser tree util; do
  exports+=("--add-exports=jdk.compiler/com.sun.tools.javac.$package=ALL-UNNAMED")
done
# Golden files stay as a generator writes them.
mapfile -t files < <(git ls-files '*.java' ':!*/testdata/golden*')
[ ${#files[@]} -gt 0 ] || exit 0
case $mode in
--check)
  unformatted=$("${JAVA_HOME:+$JAVA_HOME/bin/}java" "${exports[@]}" -jar "$jar" --dry-run --skip-javadoc-formatting "${files[@]}")
  [ -z "$unformatted" ] || {
    printf 'not formatted (run make format):\n%s\n' "$unformatted" >&2
    exit 1
  }
  ;;
--fix) "${JAVA_HOME:+$JAVA_HOME/bin/}java" "${exports[@]}" -jar "$jar" --replace --skip-javadoc-formatting "${files[@]}" ;;
esac
