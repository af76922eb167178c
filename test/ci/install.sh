#!/usr/bin/env bash
# Installs a copy of this checkout with the system's npm, as the README says: without a warning, and the server starts.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git ls-files -z | grep -zv '^test/' | xargs -0 cp --parents -t "$work"
cd "$work"
# Removes the Node of an earlier npm ci from PATH.
PATH=$(printf '%s' "$PATH" | tr ':' '\n' | grep -v node_modules | paste -sd:)
export PATH
echo "node $(node --version), npm $(npm --version)"
npm ci >install.out 2>&1 || { cat install.out; exit 1; }
if grep -E 'EBADENGINE|npm (warn|error)' install.out; then
  echo 'npm ci printed a warning'
  exit 1
fi
npm run -s uqrp -- --version
# In a separate process group: npm starts a shell that starts the server, and all three must end.
UQRP_HTTP_PORT=0 UQRP_DNS_PORT=0 UQRP_DOT_PORT=0 UQRP_DOH_PORT=0 UQRP_WORKERS=1 setsid npm start >start.out 2>&1 &
group=$!
trap 'kill -TERM -- "-$group" 2>/dev/null || true; wait "$group" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 300); do
  grep -q 'uqrp serves uqrp.net' start.out && break
  sleep 0.2
done
grep -q 'uqrp serves uqrp.net' start.out || { echo 'the server did not start within 60 s:'; cat start.out; exit 1; }
kill -TERM -- "-$group"
code=0
wait "$group" || code=$?
grep -q 'server.stopped' start.out || { echo "the server did not stop in good order, exit code $code:"; cat start.out; exit 1; }
echo 'installed, started and stopped'
