#!/bin/sh
# Random requests from the server's own OpenAPI description must never be answered with a 500.
# usage: schemathesis_check.sh TESTING_SERVER [SCHEMATHESIS [EXAMPLES]]; without schemathesis (pip install schemathesis) it says so and exits with 77.
set -u
server=$(realpath "$1")
tool=${2:-${VENEER_SCHEMATHESIS:-schemathesis}}
examples=${3:-25}
if ! command -v "$tool" >/dev/null 2>&1; then
  echo "skipped: schemathesis is not installed (pip install schemathesis, or name it in VENEER_SCHEMATHESIS)"
  exit 77
fi
tool=$(command -v "$tool")
base=$(mktemp -d)
cd "$base" || exit 1  # it keeps files of its own where it runs
mkfifo "$base/in"
"$server" "$base" >"$base/out" <"$base/in" &
child=$!
exec 3>"$base/in"
trap 'exec 3>&-; wait "$child" 2>/dev/null; rm -rf "$base"' EXIT
port=
for _ in $(seq 100); do
  port=$(sed -n 's/^port //p' "$base/out")
  [ -n "$port" ] && break
  sleep 0.1
done
[ -n "$port" ] || { echo "the server did not start"; exit 1; }
"$tool" run "http://127.0.0.1:$port/openapi.json" --checks not_a_server_error --max-examples "$examples" --phases examples,coverage,fuzzing --mode all \
  --request-timeout 30 --seed 1 --no-color --exclude-path /ws
code=$?
# Alive, and as good as before.
python3 - "$port" <<'P' || code=1
import sys, urllib.request
assert urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/health", timeout=10).status == 200
P
exit $code
