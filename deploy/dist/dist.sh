#!/usr/bin/env bash
# Packs what make build has built as a release, into build/dist. misstep is compiled anew, without paths of this machine in it.
# SOURCE_DATE_EPOCH is the time of all files; without it, that of the commit is.
#
# Usage: deploy/dist/dist.sh VERSION [BASE.tar [KEY]]
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1 base=${2:+$(realpath "$2")} key=${3:+$(realpath "$3")}
out=$PWD/build/dist
mkdir -p "$out"
GOFLAGS=-trimpath deploy/setup/misstep.sh "$out/misstep" "$version"
rm -f "$out/maven.txt"
for pom in agent/java runner/recording/java; do
  mvn -q -B -ntp -Dstyle.color=never -f $pom/pom.xml dependency:list -DincludeScope=runtime \
    -DoutputFile="$out/maven.txt" -DappendOutput=true
done
cd deploy/dist
go run . -version "$version" -time "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" -binary "$out/misstep" \
  -maven "$out/maven.txt" -base "$base" -key "$key"
