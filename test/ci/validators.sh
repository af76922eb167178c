#!/usr/bin/env bash
# Holds our signatures against every validator that is installed: test/validators/README.md. Each test whose program is missing
# is skipped and says so. In a network of its own, where one can be had, a signed root and top-level zones stand above ours.
set -euo pipefail
cd "$(dirname "$0")/../.."

tests=(node --test --test-isolation=none test/validators/*.slow.ts)

# Loopback with two addresses that name servers may have; nothing else can be reached.
setup='ip link set lo up && ip addr add 192.0.2.53/32 dev lo && ip addr add 192.0.2.54/32 dev lo'
if unshare --net sh -c "$setup" 2>/dev/null; then
  exec unshare --net sh -c "$setup && exec \"\$@\"" validators "${tests[@]}"
fi
echo 'no network of its own can be had here: the tree of root and top-level zones is skipped'
exec "${tests[@]}"
