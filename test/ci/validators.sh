#!/usr/bin/env bash
# Checks our signatures with every installed validator: test/validators/README.md. Tests of missing programs are skipped with a
# message. In a network namespace, where permitted, a signed root and signed top-level zones are above ours.
set -euo pipefail
cd "$(dirname "$0")/../.."

tests=(node --test --test-isolation=none test/validators/*.slow.ts)

# Loopback gets two addresses for name servers; nothing else is reachable.
setup='ip link set lo up && ip addr add 192.0.2.53/32 dev lo && ip addr add 192.0.2.54/32 dev lo'
if unshare --net sh -c "$setup" 2>/dev/null; then
  exec unshare --net sh -c "$setup && exec \"\$@\"" validators "${tests[@]}"
fi
echo 'cannot create a network namespace: the tree of root and top-level zones is skipped'
exec "${tests[@]}"
