#!/usr/bin/env bash
# Installs the Debian packages that the virtual machine needs and this machine lacks. Safe to run again; silent if nothing is
# missing.
set -euo pipefail

missing=()
need() { # need PROBE PACKAGE...: the packages are needed when the probe (a command line) fails
  local probe=$1
  shift
  sh -c "$probe" >/dev/null 2>&1 || missing+=("$@")
}
need 'command -v qemu-system-x86_64' qemu-system-x86
# Debian's busybox and busybox-static both provide the name; only the second is static, for which ldd exits with an error.
# shellcheck disable=SC2016 # need runs it
need 'command -v busybox && ! ldd "$(command -v busybox)"' busybox-static
need 'test -x /usr/sbin/bpftool || command -v bpftool' bpftool
need 'command -v clang-19' clang-19
need 'command -v llvm-strip-19' llvm-19
need 'test -e /usr/include/bpf/bpf_helpers.h' libbpf-dev
virtiofsd='test -x /usr/libexec/virtiofsd || test -x /usr/lib/qemu/virtiofsd || command -v virtiofsd'
if ! sh -c "$virtiofsd" >/dev/null 2>&1; then
  # A separate package since Debian trixie; before that a part of qemu.
  if apt-cache show virtiofsd >/dev/null 2>&1; then missing+=(virtiofsd); else missing+=(qemu-system-common); fi
fi
[ ${#missing[@]} -gt 0 ] || exit 0

command -v apt-get >/dev/null || {
  echo "vm: this machine has no apt-get; install by hand: ${missing[*]}" >&2
  exit 1
}
sudo=
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || {
    echo "vm: these packages are missing; install them as root (there is no sudo here): ${missing[*]}" >&2
    exit 1
  }
  sudo=sudo
fi
echo "vm: installing ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $sudo apt-get update -qq &&
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  exit 1
fi
