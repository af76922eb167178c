#!/usr/bin/env bash
# Runs the shell session of the README against `npm start`, and checks the answer that each reader gets.
set -euo pipefail
cd "$(dirname "$0")/../.."

for program in dig kdig curl; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 0; }
done

if curl -s -o /dev/null http://127.0.0.1:8080/; then
  echo 'another server holds the ports of the README session'
  exit 1
fi

work=$(mktemp -d)
git ls-files -z | grep -zv '^test/' | xargs -0 cp --parents -t "$work"
ln -s "$PWD/node_modules" "$work/node_modules"
cd "$work"
# In a separate process group: npm starts a shell that starts the server, and the trap must end all three.
setsid npm start >server.log 2>&1 &
group=$!
trap 'kill -TERM -- "-$group" 2>/dev/null || true; wait "$group" 2>/dev/null || true; rm -rf "$work"' EXIT

for _ in $(seq 300); do
  curl -fsS http://127.0.0.1:8080/readyz >/dev/null 2>&1 && break
  sleep 0.2
done

# The README's `sh` blocks, in order.
# The answer to a write comes some milliseconds before the DNS side has it: a busy machine may ask too early.
awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0; next } inside { print }
  inside && /^NAME=/ { print "for _ in $(seq 300); do dig @127.0.0.1 -p 5300 TXT $NAME +short | grep -q aGVsbG8= && break; sleep 0.1; done" }' README.md >session.sh
grep -q '^for _ in' session.sh || { echo 'README.md has no line that begins with NAME='; exit 1; }
bash -eu session.sh >session.out 2>session.err || { echo 'the session failed:'; cat session.out session.err; exit 1; }
cat session.out

world='v=svc1;s=ok;t=data;e=plain;f=text;ttl=300;d=hello world'
value='v=svc1;s=ok;t=data;e=b64;f=text;ttl=300;d=aGVsbG8='
demo=$(grep -cF "$world" session.out)
again=$(grep -cx '  hello again' session.out)
seen=$(grep -cF "$value" session.out)
refused=$(grep -cF 'status: REFUSED' session.out)
json=$(grep -cF '"Status":0' session.out)
decoded=$(grep -cx '  hello' session.out)
echo "demo: $demo, changed: $again, answers with the envelope: $seen, refused: $refused, JSON: $json, decoded: $decoded"
[ "$demo" -eq 1 ] && [ "$again" -eq 1 ] && [ "$seen" -ge 6 ] && [ "$refused" -eq 1 ] && [ "$json" -eq 1 ] && [ "$decoded" -eq 1 ]
