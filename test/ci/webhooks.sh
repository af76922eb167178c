#!/usr/bin/env bash
# Webhooks from outside, with a whole server: test/webhooks/README.md. In a network of its own, since nothing lets a webhook reach
# a private address: there, loopback holds addresses that look public.
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
echo 'skipped: no network of its own can be had here'
