# shellcheck shell=bash disable=SC2154
# What the session of a page begins with; records is the folder for what its commands print.

# A reader starts servers in terminals of their own. Here they run in the background. One that is started again with the same folder
# or address takes the place of the former.
declare -A servers
misstep() {
  case $1 in
  coordinator | runner | web) serve "$@" ;;
  *) command misstep "$@" ;;
  esac
}

# What coordinators and pages say when they can be called. A runner says nothing: it is given a moment to fail.
declare -A ready=([coordinator]='coordinator serves' [web]='^http://' [runner]='.')

serve() {
  local key=$1 log=server.$((++started)).log word before='' begun=$SECONDS
  for word; do
    [[ $before == --listen || $before == --dir ]] && key+=" $word"
    before=$word
  done
  [[ -z ${servers[$key]} ]] || stop "${servers[$key]}"
  : >"$log"
  command misstep "$@" >>"$log" 2>&1 &
  servers[$key]=$!
  for _ in {1..600}; do
    if grep -qE "${ready[$1]}" "$log" || [[ $1 == runner && $SECONDS -gt $((begun + 1)) ]]; then
      cat "$log"
      return
    fi
    kill -0 "${servers[$key]}" 2>/dev/null || break
    sleep 0.1
  done
  cat "$log"
  return 99
}

# stop PID: a second signal lets a runner hand back its trials at once.
stop() {
  kill "$1" 2>/dev/null && sleep 0.2 && kill "$1" 2>/dev/null
  wait "$1" 2>/dev/null
  true
}

stop_all() {
  local pid
  for pid in "${servers[@]}" $(jobs -p); do stop "$pid"; done
}
trap stop_all EXIT

# ended N CODE WANTED: what the command N of the page came to. A page ends with its first failure.
ended() {
  echo "$2" >"$records/$1.code"
  [[ $2 == "$3" ]] || exit 1
}
