#!/usr/bin/env bash
# Builds misstep. On a new machine that is the longest step, so it begins to compile the standard library while modules are still on
# their way, and the compiler may use memory instead of time.
#
# Usage: deploy/setup/misstep.sh FILE VERSION
set -euo pipefail
cd "$(dirname "$0")/../.."
file=$1 version=$2
export GOGC=400 GOMEMLIMIT=2GiB
go mod download &
go build -v net/http html/template database/sql
wait $!
go generate ./deploy/vm
go build -v -ldflags "-s -w -X main.version=$version" -o "$file" ./cmd/misstep
