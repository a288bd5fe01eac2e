#!/usr/bin/env bash
# Configures and builds targets of the agent's native half.
#
# Usage: deploy/setup/agent.sh FOLDER 'TARGET...' [CMAKE OPTION...]
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$1 targets=$2
shift 2
cmake -S agent/native -B "$folder" "$@"
# shellcheck disable=SC2086 # several targets
cmake --build "$folder" -j"$(nproc)" --target $targets
