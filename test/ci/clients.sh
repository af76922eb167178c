#!/usr/bin/env bash
# Clients written by others, one script each; every one runs, and one failure fails the whole.
set -uo pipefail
cd "$(dirname "$0")/../clients" || exit 1

failed=0
for script in *.sh; do
  echo "-- $script"
  bash "$script" || failed=1
done
exit "$failed"
