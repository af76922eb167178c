#!/usr/bin/env bash
# Runs every shell example of docs/API.md, docs/api, docs/AUDIT.md, docs/DEVICES.md, docs/RUN.md and docs/CHANGES.md in this order, in one shell,
# against a fresh server, and fails when an example fails or is answered with an error.
set -euo pipefail
cd "$(dirname "$0")/../.."

LIMIT=180 # seconds for all examples; they take about 10

for program in curl jq xxd; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 0; }
done

work=$(mktemp -d)
export UQRP_DATA_DIR="$work/data" UQRP_HTTP_PORT=0 UQRP_DNS_PORT=0 UQRP_DOT_PORT=0 UQRP_DOH_PORT=0
node src/cli.ts serve --json >"$work/ports" 2>"$work/server.log" &
server=$!
trap 'kill -TERM "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
# The server chooses its ports, and prints them when it listens: nobody else can take them in between.
for _ in $(seq 300); do
  grep -q '"ports"' "$work/ports" && break
  sleep 0.2
done
grep -q '"ports"' "$work/ports" || { echo 'the server did not listen within 60 s:'; cat "$work/server.log"; exit 1; }
port() { sed -nE "1s/.*\"$1\":([0-9]+).*/\1/p" "$work/ports"; }
http=$(port http)
# The commands of the page ask the server at these ports.
export UQRP_HTTP_PORT="$http" UQRP_DNS_PORT="$(port dns)" UQRP_DOT_PORT="$(port dot)" UQRP_DOH_PORT="$(port doh)"
for _ in $(seq 300); do
  curl -fsS --max-time 5 "http://127.0.0.1:$http/readyz" >/dev/null 2>&1 && break
  sleep 0.2
done
curl -fsS "http://127.0.0.1:$http/readyz" >/dev/null || { echo 'the server was not ready within 60 s:'; cat "$work/server.log"; exit 1; }

# The examples run beside the project's own files, because `npm run uqrp` needs them and some write a file.
mkdir "$work/tree"
ln -s "$PWD"/{bin,node_modules,package.json,src} "$work/tree/"

# A stream (-N) stays open: three seconds of it are enough, then curl ends with exit code 28. A loop that waits for changes ends with the curl that
# waits; `uqrp watch` is ended. No other example may wait.
cat >"$work/session.sh" <<'EOF'
curl() {
  case " $* " in
    *Bearer*) echo 'a token stands in the arguments of curl' >&2; kill $$ ;;
    *' -sN '*) command curl --fail --max-time 3 "$@" || [ $? -eq 28 ] ;;
    *wait=55*) command curl --max-time 3 "$@" 2>/dev/null ;;
    *) command curl --max-time 20 "$@" ;;
  esac
}
uqrp() {
  case $1 in
    watch) timeout 5 node src/cli.ts "$@" || [ $? -eq 124 ] ;;
    *) npm run -s uqrp -- "$@" ;;
  esac
}
# What docs/RUN.md takes for granted: a namespace, a key that reads it, and a program to start.
before_run() {
  echo "Authorization: Bearer $TOKEN" | curl -s "$API/namespaces" -H @- -H 'Content-Type: application/json' -d '{"namespace": {"name": "shop"}}'
  echo
  READ_KEY=$(echo "Authorization: Bearer $TOKEN" | curl -s "$API/api_keys" -H @- -H 'Content-Type: application/json' \
    -d '{"api_key": {"name": "run", "scopes": {"operations": ["read"], "namespaces": ["shop"]}}}' | sed 's/.*"token":"\([^"]*\)".*/\1/')
  printf '#!/bin/sh\necho "server: $DATABASE_URL"\n' >server
  chmod +x server
}
EOF
export XDG_STATE_HOME="$work/state" # of the copies of `uqrp run`
pages=(docs/API.md docs/api/{records,webhooks,accounts,usage}.md docs/{AUDIT,DEVICES,RUN,CHANGES}.md)
# Each block prints its number and line first, so that a failure can be found in the page.
awk -v n=0 'FNR == 1 && FILENAME == "docs/RUN.md" { print "before_run" }
  /^```sh$/ { inside = 1; n++; printf "echo \"== example %d, %s line %d\"\n", n, FILENAME, FNR; next }
  /^```$/ { if (inside) print "echo"; inside = 0; next }
  inside { print }' "${pages[@]}" | sed "s#http://127.0.0.1:8080/#http://127.0.0.1:$http/#; s#https://uqrp.example.com#http://127.0.0.1:$http#" >>"$work/session.sh"
wanted=$(cat "${pages[@]}" | grep -c '^```sh$')
code=0
(cd "$work/tree" && timeout --kill-after=5 "$LIMIT" bash -eu "$work/session.sh") </dev/null >"$work/session.out" 2>"$work/session.err" || code=$?
if ((code != 0)); then
  cat "$work/session.out" "$work/session.err"
  reason="ended with exit code $code"
  ((code != 124)) || reason="waited: the session did not end within $LIMIT s"
  echo "docs/API.md, $(grep '^== example' "$work/session.out" | tail -1 | cut -c4-): $reason"
  exit 1
fi
examples=$(grep -c '^== example' "$work/session.out")
# No `error` or `errors` member: every example of the page succeeds.
if grep -nE '"errors?":(\[|")' "$work/session.out"; then
  cat "$work/session.out"
  exit 1
fi
grep -qx 'server: postgres://shop@db/shop' "$work/session.out" || { echo 'the program of docs/RUN.md did not get its value'; exit 1; }
echo "examples of docs/API.md that ran from a fresh start: $examples of $wanted"
[ "$examples" -ge 10 ] && [ "$examples" -eq "$wanted" ]
