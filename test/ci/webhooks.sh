#!/usr/bin/env bash
# Tests webhooks with a whole server: test/webhooks/README.md. It runs in a network namespace whose loopback has addresses that look
# public, because no webhook reaches a private address.
set -euo pipefail
cd "$(dirname "$0")/../.."

setup='ip link set lo up && ip addr add 45.90.0.53/32 dev lo && ip addr add 45.90.0.80/32 dev lo'
tests=(node --test --test-isolation=none test/webhooks/*.slow.ts)
for own in --net '--net --user --map-root-user'; do
  # shellcheck disable=SC2086
  if unshare $own sh -c "$setup" 2>/dev/null; then
    exec unshare $own sh -c "$setup && exec \"\$@\"" webhooks "${tests[@]}"
  fi
done
echo 'skipped: cannot create a network namespace'
