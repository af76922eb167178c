#!/usr/bin/env bash
# Tests our transports with third-party clients: cookies, idle timeouts, padding, TLS with and without ALPN and SNI, and the
# rate limit of replies. Starts a server on free ports.
set -euo pipefail
cd "$(dirname "$0")/../.."

for program in dig kdig openssl dnsperf; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 0; }
done

work=$(mktemp -d)
export UQRP_DATA_DIR="$work/data" UQRP_HTTP_PORT=0 UQRP_DNS_PORT=0 UQRP_DOT_PORT=0 UQRP_DOH_PORT=0
PATH="$PWD/node_modules/.bin:$PATH"

server_pid=
stop_server() {
  [ -z "$server_pid" ] || { kill "$server_pid" 2>/dev/null || true; wait "$server_pid" 2>/dev/null || true; }
  server_pid=
}
trap 'stop_server; rm -rf "$work"' EXIT

# start_server RATE: sets dns, dot and doh to its ports.
start_server() {
  rm -f "$work/ports"
  UQRP_DNS_RATE=$1 node src/cli.ts serve --json >"$work/ports" 2>"$work/log" &
  server_pid=$!
  for _ in $(seq 300); do
    [ -s "$work/ports" ] && break
    sleep 0.2
  done
  [ -s "$work/ports" ] || { echo 'the server did not start:'; cat "$work/log"; exit 1; }
  local port
  for port in dns dot doh; do
    declare -g "$port=$(sed -nE "s/.*\"$port\":([0-9]+).*/\1/p" "$work/ports")"
  done
}

failures=0
report() { # NAME OUTPUT CODE
  if [ "$3" -eq 0 ]; then
    echo "ok: $1"
  else
    failures=$((failures + 1))
    printf 'FAILED: %s\n%s\n' "$1" "$2"
  fi
}

# expect NAME PATTERN COMMAND...: the output matches.
expect() {
  local name=$1 pattern=$2 output code=0
  shift 2
  output=$("$@" 2>&1 </dev/null) || true
  grep -Eq -- "$pattern" <<<"$output" || code=1
  report "$name" "$output" "$code"
}

# lacks NAME PATTERN COMMAND...: the reply is NOERROR, and does not match.
lacks() {
  local name=$1 pattern=$2 output code=0
  shift 2
  output=$("$@" 2>&1 </dev/null) || true
  grep -q 'status: NOERROR' <<<"$output" || code=1
  ! grep -Eq -- "$pattern" <<<"$output" || code=1
  report "$name" "$output" "$code"
}

zone=uqrp.net
start_server 0
ca="$work/data/tls/cert.pem"
udp=(dig @127.0.0.1 -p "$dns" +tries=1 +time=5)
tls=(kdig @127.0.0.1 -p "$dot" "+tls-ca=$ca" +tls-hostname=localhost)
https=(kdig @127.0.0.1 -p "$doh" +https "+tls-ca=$ca" +tls-hostname=localhost)
handshake=(openssl s_client -connect "127.0.0.1:$dot" -CAfile "$ca")

# Cookies (RFC 7873, RFC 9018). dig prints "good" when its client cookie comes back with a server cookie.
expect 'a server cookie' 'COOKIE: [0-9a-f]{16}01000000[0-9a-f]{24} \(good\)' "${udp[@]}" +cookie $zone SOA
cookie=$("${udp[@]}" +cookie $zone SOA | sed -nE 's/^; COOKIE: ([0-9a-f]+) .*/\1/p')
expect 'the same cookie again, while it is fresh' "COOKIE: $cookie \(good\)" "${udp[@]}" "+cookie=$cookie" $zone SOA
expect 'an answer to a forged server cookie' 'ANSWER: 1' "${udp[@]}" "+cookie=${cookie:0:46}ff" $zone SOA
expect 'FORMERR to a cookie of three octets' 'status: FORMERR' "${udp[@]}" +nocookie +ednsopt=10:010203 $zone SOA
expect 'a cookie without a question' 'status: NOERROR' "${udp[@]}" +header-only +cookie
expect 'a cookie beside NSID' 'NSID: 75 71 72 70' "${udp[@]}" +nsid +cookie $zone SOA
lacks 'no cookie unasked' 'COOKIE' "${udp[@]}" +nocookie $zone SOA
lacks 'nothing of a client subnet' 'CLIENT-SUBNET' "${udp[@]}" +subnet=192.0.2.0/24 $zone SOA

# Idle timeouts (RFC 7828): on connections only.
expect 'the idle timeout over TCP' 'TCP.KEEPALIVE: 10.0 secs' "${udp[@]}" +tcp +keepalive $zone SOA
lacks 'no idle timeout over UDP' 'TCP.KEEPALIVE: ' "${udp[@]}" +keepalive $zone SOA
lacks 'no idle timeout unasked' 'TCP.KEEPALIVE: ' "${udp[@]}" +tcp $zone SOA

# Padding (RFC 7830, RFC 8467): over encrypted transports only, and on request.
expect 'padded to 468 octets over TLS' 'Received 468 B' "${tls[@]}" +padding $zone SOA
expect 'padded to 468 octets over HTTPS' 'Received 468 B' "${https[@]}" +padding $zone SOA
lacks 'not padded unasked' 'PADDING' "${tls[@]}" +nopadding $zone SOA
lacks 'not padded over UDP' 'PADDING' kdig @127.0.0.1 -p "$dns" +padding $zone SOA
lacks 'not padded over TCP' 'PADDING' kdig @127.0.0.1 -p "$dns" +tcp +padding $zone SOA

# DNS over TLS (RFC 7858, RFC 8310).
expect 'a strict client over TLS' 'status: NOERROR' "${tls[@]}" $zone SOA
expect 'an opportunistic client over TLS' 'status: NOERROR' kdig @127.0.0.1 -p "$dot" +tls $zone SOA
expect 'without SNI and ALPN' 'Verify return code: 0' "${handshake[@]}" -noservername
expect 'ALPN dot' 'ALPN protocol: dot' "${handshake[@]}" -alpn dot
expect 'no other ALPN' 'alert' "${handshake[@]}" -alpn h2
refused='communications error|connection reset|end of file|timed out|no servers could be reached'
expect 'no plain DNS on the port of TLS' "$refused" dig @127.0.0.1 -p "$dot" +tcp +tries=1 +time=2 $zone SOA
stop_server

# The rate limit of replies: at 50 per second, a burst of 300 within three seconds cannot get every reply.
start_server 50
for _ in $(seq 300); do echo "$zone SOA"; done >"$work/burst"
burst=(dnsperf -s 127.0.0.1 -p "$dns" -d "$work/burst" -n 1 -q 300 -t 1)
expect 'a burst loses replies' 'Queries lost: +[1-9]' "${burst[@]}"
expect 'some queries of a burst complete: truncated replies are retried over TCP' 'Queries completed: +[1-9]' "${burst[@]}"
expect 'TCP answers a client above the UDP rate limit' 'ANSWER: 1' dig @127.0.0.1 -p "$dns" +tcp $zone SOA

[ "$failures" -eq 0 ] || { echo "$failures failed"; exit 1; }
