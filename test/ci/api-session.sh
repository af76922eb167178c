#!/usr/bin/env bash
# Runs every shell example of docs/API.md in the order of the page, in one shell, against a fresh server, and fails when an
# example fails or is answered with an error.
set -euo pipefail
cd "$(dirname "$0")/../.."

command -v curl >/dev/null || { echo 'skipped: curl is not installed'; exit 0; }

work=$(mktemp -d)
ports=$(node -e "
const net = require('node:net');
const servers = [1, 2, 3, 4].map(() => net.createServer().listen(0, '127.0.0.1'));
setTimeout(() => { console.log(servers.map((s) => s.address().port).join(' ')); process.exit(); }, 50);")
read -r http dns dot doh <<<"$ports"
export UQRP_DATA_DIR="$work/data" UQRP_HTTP_PORT="$http" UQRP_DNS_PORT="$dns" UQRP_DOT_PORT="$dot" UQRP_DOH_PORT="$doh"
node src/cli.ts serve >"$work/server.log" 2>&1 &
server=$!
trap 'kill -TERM "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do
  curl -fsS "http://127.0.0.1:$http/readyz" >/dev/null 2>&1 && break
  sleep 0.2
done

# Each block prints its number and line first, so that a failure can be found in the page.
awk -v n=0 '/^```sh$/ { inside = 1; n++; printf "echo \"== example %d, line %d\"\n", n, NR; next }
  /^```$/ { if (inside) print "echo"; inside = 0; next }
  inside { print }' docs/API.md | sed "s#http://127.0.0.1:8080/#http://127.0.0.1:$http/#" >"$work/session.sh"
bash -eu "$work/session.sh" >"$work/session.out" 2>"$work/session.err" || {
  cat "$work/session.out" "$work/session.err"
  exit 1
}
examples=$(grep -c '^== example' "$work/session.out")
# No `error` or `errors` member: every example of the page succeeds.
if grep -nE '"errors?":(\[|")' "$work/session.out"; then
  cat "$work/session.out"
  exit 1
fi
echo "examples of docs/API.md that ran from a fresh start: $examples"
[ "$examples" -ge 10 ]
