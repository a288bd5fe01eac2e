#!/usr/bin/env bash
# Prints the lines of the given files that are wider than .editorconfig's 132 columns. Rows of Markdown tables may be wider.
#
# Usage: deploy/setup/width.sh FILE...
set -euo pipefail
wide=$(LC_ALL=C.UTF-8 grep -nHE '^.{133,}' "$@" | grep -vE '\.md:[0-9]+: *\|' | cut -c1-120 || true)
[ -z "$wide" ] || {
  printf '%s\n' "$wide" 'these lines are wider than 132 columns'
  exit 1
}
