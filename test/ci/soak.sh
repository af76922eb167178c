#!/usr/bin/env bash
# Three minutes of mixed load over every transport; `node test/soak/soak.ts 10` is the long run.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec node test/soak/soak.ts "${1:-3}"
