#!/usr/bin/env bash
# Takes pictures of the pages of a finished hunt in Chromium: OUT/overview.png, OUT/matrix.png and OUT/finding.png, which shows the
# mismatch of the check gst-asgct that was hit most often.
#
# Usage: deploy/setup/screenshot.sh HUNT_DIR OUT
set -euo pipefail
hunt=$1 out=$2
fail() {
  echo "$*" >&2
  exit 1
}
[ -e "$hunt/store.db" ] || fail "$hunt holds no hunt: make hunt makes one"
command -v chromium >/dev/null || fail "no Chromium: deploy/setup/install.sh test installs it"
work=$(mktemp -d)
mkdir -p "$out"
misstep web --dir "$hunt" --listen 127.0.0.1:0 >"$work/address" 2>"$work/errors" &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$work"' EXIT
until grep -q '^http://' "$work/address"; do
  kill -0 $server 2>/dev/null || fail "$(cat "$work/errors")"
  sleep 0.1
done
site=$(grep -m1 '^http://' "$work/address")
site=${site%/}
finding=$(curl -fsS "$site/findings.csv?by=finding&kind=mismatch&check=gst-asgct&sort=hits" | sed -n 2p | cut -d, -f1)
[ -n "$finding" ] || fail "the hunt has no finding of gst-asgct to show"
options=(--headless --hide-scrollbars --user-data-dir="$work/chromium" --host-resolver-rules='MAP * ~NOTFOUND, EXCLUDE 127.0.0.1')
if [ "$(id -u)" = 0 ]; then
  options+=(--no-sandbox) # Chromium has none for root
fi
# picture NAME PATH HEIGHT
picture() {
  chromium "${options[@]}" --window-size="1100,$3" --screenshot="$work/$1.png" "$site$2" >"$work/log" 2>&1 || true
  [ -s "$work/$1.png" ] || fail "$(cat "$work/log")"
  mv "$work/$1.png" "$out/$1.png"
  echo "$out/$1.png"
}
picture overview / 900
picture matrix /matrix 900
picture finding "/findings/$finding" 1000
