#!/usr/bin/env bash
# Installs what building, hunting and testing need and this machine lacks: Debian packages, a Go toolchain, a JDK, and the
# development tools pinned in internal/tools. Safe to run again; does nothing if nothing is missing.
#
# Usage: deploy/setup/install.sh compilers|build|fleet|packages|test
#   compilers: returns at once if all that compiles is there, although something of build may be missing: make hunt installs that
#   while it compiles. packages: of test what Debian has, without the tools that are built.
set -euo pipefail
cd "$(dirname "$0")/../.."
what=${1:?usage: deploy/setup/install.sh compilers|build|fleet|packages|test}
tools=$PWD/build/tools
mkdir -p "$tools"

say() { printf 'setup: %s\n' "$*" >&2; }

# Debian packages: those whose probe fails are installed with one command.
missing=()
need() { # need PROBE PACKAGE...: the packages are installed if the probe (a command line) fails
  local probe=$1
  shift
  sh -c "$probe" >/dev/null 2>&1 || missing+=("$@")
}
need 'command -v curl' curl ca-certificates
need 'command -v git' git
need 'command -v g++' g++
need 'command -v cmake' cmake
need 'command -v make' make
need 'command -v javac' openjdk-17-jdk-headless
need 'command -v mvn' maven
need 'command -v go || test -x build/tools/go/bin/go' golang-go
if [ "$what" != compilers ] || [ ${#missing[@]} -gt 0 ]; then # one run of apt-get is quicker than two
  need 'command -v patchelf' patchelf
  need 'command -v gdb' gdb
fi
case $what in fleet | packages | test)
  need 'ls /usr/lib/postgresql/*/bin/postgres' postgresql
  need 'command -v ip' iproute2
  ;;
esac
case $what in packages | test)
  need 'command -v node' nodejs
  need 'command -v npm' npm
  need 'command -v shellcheck' shellcheck
  need 'command -v clang-format-19' clang-format-19
  need 'command -v clang-tidy-19' clang-tidy-19
  need 'test -e /usr/include/gtest/gtest.h' libgtest-dev
  need 'command -v jtreg' jtreg7
  need 'command -v ccache' ccache
  need 'command -v chromium' chromium
  ;;
esac
if [ ${#missing[@]} -gt 0 ]; then
  command -v apt-get >/dev/null || {
    say "this machine has no apt-get; install by hand: ${missing[*]}"
    exit 1
  }
  sudo=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || {
      say "these packages are missing, and installing them needs root or sudo: ${missing[*]}"
      exit 1
    }
    sudo=sudo
  fi
  say "installing ${missing[*]}"
  $sudo apt-get update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >build/tools/apt.log ||
    {
      tail -n 20 build/tools/apt.log >&2
      say "apt-get could not install them; see build/tools/apt.log"
      exit 1
    }
fi

# Go: the version that go.mod requires. Go 1.21 or newer fetches it by itself; an older one (Debian bookworm's) can still download
# the toolchain, which the module proxy serves as a module.
want=$(sed -n 's/^toolchain go//p' go.mod)
[ -n "$want" ] || want=$(sed -n 's/^go //p' go.mod)
if [ ! -x "$tools/go/bin/go" ]; then
  have=$(cd / && go version | sed -n 's/^go version go\([0-9]*\.[0-9]*\).*/\1/p')
  if [ "$(printf '%s\n' 1.21 "$have" | sort -V | head -n 1)" != 1.21 ]; then
    say "go $have is older than 1.21: fetching the go $want toolchain"
    scratch=$(mktemp -d)
    (cd "$scratch" && go mod init scratch >/dev/null 2>&1 &&
      go mod download -json "golang.org/toolchain@v0.0.1-go$want.linux-$(go env GOARCH)" >module.json)
    dir=$(sed -n 's/^[[:space:]]*"Dir": "\(.*\)",*$/\1/p' "$scratch/module.json")
    rm -rf "$tools/go"
    cp -r "$dir" "$tools/go"
    chmod -R u+w "$tools/go"
    chmod +x "$tools"/go/bin/* "$tools"/go/pkg/tool/*/*
    # A module contains no other go.mod: without these the library's packages would belong to this module, as they are below its
    # go.mod.
    find "$tools/go" -name _go.mod -execdir cp _go.mod go.mod \;
    rm -rf "$scratch"
  fi
fi
[ ! -x "$tools/go/bin/go" ] || PATH=$tools/go/bin:$PATH

if [ "$what" = fleet ] || [ "$what" = test ]; then
  # Tools pinned by the modules below internal/tools; cached outside of build/, since some take minutes to build.
  pinned() { # pinned MODULE WHAT [CGO_ENABLED]: builds the tools of a module once, and copies them
    local stamp cache module=$1 name=${1#internal/tools}
    stamp=$tools/.${name:+${name#/}-}$(cat "$module/go.mod" "$module/go.sum" | sha256sum | cut -c1-16)
    [ ! -e "$stamp" ] || return 0
    cache=${XDG_CACHE_HOME:-$HOME/.cache}/misstep/tools$(basename "$stamp")
    if [ ! -e "$cache/.complete" ]; then
      say "building $2 (minutes, once)"
      rm -rf "$cache"
      mkdir -p "$cache"
      (cd "$module" && CGO_ENABLED=${3:-0} CGO_CFLAGS=-w GOBIN=$cache go install -v tool)
      touch "$cache/.complete"
    fi
    cp "$cache"/* "$tools"/
    touch "$stamp"
  }
  pinned internal/tools/s3 "the S3 server"
  # Nomad 1.6.1 is the last server under an open-source licence; its executor of tasks (libcontainer) needs cgo.
  pinned internal/tools/nomad "the Nomad server" 1
fi
if [ "$what" = test ]; then
  pinned internal/tools "the development tools"
  # vale parses comments with tree-sitter's grammars, which are written in C.
  pinned internal/tools/prose "the linter of texts" 1
  if [ ! -x "$tools/node_modules/.bin/buf" ] || [ ! -e "$tools/node_modules/axe-core/axe.min.js" ]; then
    say "fetching buf and axe-core"
    npm install --silent --no-audit --no-fund --prefix "$tools" @bufbuild/buf@1.75.0 axe-core@4.14.1 >"$tools/npm.log" 2>&1 ||
      {
        cat "$tools/npm.log" >&2
        exit 1
      }
  fi
fi
