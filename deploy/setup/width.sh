#!/usr/bin/env bash
# Says which lines of the given files are wider than .editorconfig's 132 columns. Rows of Markdown's tables cannot be broken and may be.
#
# Usage: deploy/setup/width.sh FILE...
set -euo pipefail
wide=$(LC_ALL=C.UTF-8 grep -nHE '^.{133,}' "$@" | grep -vE '\.md:[0-9]+: *\|' | cut -c1-120 || true)
[ -z "$wide" ] || {
  printf '%s\n' "$wide" 'these lines are wider than 132 columns'
  exit 1
}
