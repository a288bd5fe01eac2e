#!/usr/bin/env bash
# Installs the packages for regenerating the scheduler's object (go generate ./bpf) and for its tests. Running misstep needs none.
set -euo pipefail
packages=(clang-19 llvm-19 libbpf-dev gcc libc6-dev libasan8 libubsan1)
missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f '${Status}\n' "$p" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$p")
done
if ((${#missing[@]})); then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
