#!/usr/bin/env bash
# Runs the shell session of the README and of docs/FIRST-RECORD.md against `npm start`, and checks the answer that each reader gets.
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
curl -fsS http://127.0.0.1:8080/readyz >/dev/null || { echo 'the server was not ready within 60 s:'; cat server.log; exit 1; }

# Waits until DNS has all that was written: changes arrive in their order, and the last one is a mark.
mark=0
settle() {
  mark=$((mark + 1))
  npm run -s uqrp -- put settled.acme.v1 "mark $mark" >/dev/null
  for _ in $(seq 300); do
    dig @127.0.0.1 -p 5300 +short TXT get.settled.acme.v1.uqrp.net | grep -qF ";d=mark $mark\"" && return
    command sleep 0.1
  done
  echo "the write of mark $mark was not seen within 30 s"
  return 1
}
export mark
export -f settle

# The `sh` blocks of README and docs/FIRST-RECORD.md, in order. The answer to a write comes some milliseconds before the DNS side has it; `sleep 1` in the pages is
# for that, and a busy machine may need more.
awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0; next } inside { gsub(/sleep 1/, "settle"); print }
  inside && /^NAME=/ { print "for _ in $(seq 300); do dig @127.0.0.1 -p 5300 TXT $NAME +short | grep -q aGVsbG8= && break; sleep 0.1; done" }' README.md docs/FIRST-RECORD.md >session.sh
grep -q '^for _ in' session.sh || { echo 'docs/FIRST-RECORD.md has no line that begins with NAME='; exit 1; }
bash -eu session.sh >session.out 2>session.err || { echo 'the session failed:'; cat session.out session.err; exit 1; }
cat session.out

count() { grep -cF -- "$1" session.out || true; }
lines() { grep -cx -- "$1" session.out || true; }
world=$(count 'v=svc1;s=ok;t=data;e=plain;f=text;ttl=300;d=hello world')
again=$(lines '  hello again')
rest=$(lines '  hello REST')
switch=$(lines 'pump: off')
flag=$(lines 'dark mode: on')
seen=$(count 'v=svc1;s=ok;t=data;e=b64;f=text;ttl=300;d=aGVsbG8=')
refused=$(count 'status: REFUSED')
json=$(count '"Status":0')
decoded=$(lines '  hello')
echo "demo: $world, changed: $again, over REST: $rest, signed switch: $switch, flag: $flag"
echo "answers with the envelope: $seen, refused: $refused, JSON: $json, decoded: $decoded"
[ "$world,$again,$rest,$switch,$flag" = 1,1,1,1,1 ]
[ "$refused,$json,$decoded" = 1,1,1 ]
[ "$seen" -ge 6 ]

# A key that signed nothing, and a server that is away: no value of somebody else, and the default.
(umask 077; npm run -s uqrp -- key new --sign >other.pem)
other=$(npm run -s uqrp -- key public other.pem | tail -n 1)
if npm run -s uqrp -- read pump.status.acme.v1 --server 127.0.0.1 --port 5300 --signed-by "$other" >forged.out 2>&1; then
  echo 'a value that another key signed was taken'; exit 1
fi
function=$(grep '^checkout=' README.md)
away=$(sed -n 's/--port 5300/--port 9/; s/^flag=.*/&/p' README.md | head -n 1)
bash -c "$function
$away" 2>/dev/null | grep -qx 'dark mode: off' || { echo 'no default while the server is away'; exit 1; }

# From another folder the function of the page works on the data of the checkout, and on files of that folder.
mkdir 'another folder'
bash -euc "$function
  cd 'another folder'; uqrp key new shop.key; uqrp export acme >acme.jsonl; uqrp import acme acme.jsonl" || {
  echo 'the function fails in another folder'; exit 1; }
[ -f 'another folder/shop.key' ] && [ ! -e 'another folder/data' ] && [ -s 'another folder/acme.jsonl' ]

# A value of several strings, which `dig +short` prints in several quotes, is read whole.
long=$(printf 'x%.0s' $(seq 400))
npm run -s uqrp -- put long.flags.acme.v1 "$long" >/dev/null
mark=100
settle
[ "$(npm run -s uqrp -- read long.flags.acme.v1 --server 127.0.0.1 --port 5300)" = "$long" ] || { echo 'a long value was cut'; exit 1; }

# Blocks of `$ ` lines: each command, and the answer that the page shows for it. Answers with the time of now have the same fields.
masked() { case $1 in *';ts='*) printf %s "$1" | sed 's/=[^;"]*/=/g' ;; *) printf %s "$1" ;; esac; }
awk '/^```$/ { inside = !inside; next } /^```/ { inside = 1; next } inside' README.md >blocks.txt
commands=0
while IFS= read -r -u 3 line; do
  case $line in '$ '*) ;; *) continue ;; esac
  IFS= read -r -u 3 shown
  got=$(bash -c "${line#??}")
  commands=$((commands + 1))
  [ "$(masked "$got")" = "$(masked "$shown")" ] || { printf 'README: %s\nshows %s\nis    %s\n' "$line" "$shown" "$got"; exit 1; }
done 3<blocks.txt
echo "commands with their answers: $commands"
[ "$commands" -ge 2 ]
# No command asks a server that the reader does not have.
! grep -nE '(^|[ (])dig ' README.md | grep -vE 'dig @127\.0\.0\.1 -p 5300 '
