#!/usr/bin/env bash
# Runs every script of test/clients (third-party clients). Exit code 1 when one fails.
set -uo pipefail
cd "$(dirname "$0")/../clients" || exit 1

failed=0
for script in *.sh; do
  echo "-- $script"
  bash "$script" || failed=1
done
exit "$failed"
