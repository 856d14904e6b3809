#!/usr/bin/env bash
# Runs a command with QUIPU_TIKV as the addresses of the PD servers of a TiKV cluster.
#
#     tools/with-tikv.sh cargo test -p quipu-engine-tikv --features tikv
#
# With TIKV_PD (host:port, several with commas) that is a cluster that runs. Otherwise servers are started in a
# temporary folder on free ports of this machine, and stopped at the end: a genuine PD, and a store of one process that
# speaks TiKV's protocol (tools/tikv-servers). The first run builds them with Go, in five CPU minutes. They are not
# built if the folder TIKV_TEST_SERVERS has them, as pd/pd-server and unistore/unistore-server. TIKV_REGION_BYTES is the
# size at which the store splits a region, by default so small that tests have several.
#
# With --if-there before the command, a missing server is no error; the command is left out.
set -euo pipefail

if_there=
if [ "${1:-}" = --if-there ]; then
  if_there=yes
  shift
fi
if [ -n "${TIKV_PD:-}" ]; then
  QUIPU_TIKV="$TIKV_PD" exec "$@"
fi

root=$(cd "$(dirname "$0")/.." && pwd)
built="${TIKV_TEST_SERVERS:-${CARGO_TARGET_DIR:-$root/target}/tikv-servers}"
is_built() {
  [ -x "$built/pd/pd-server" ] && [ -x "$built/unistore/unistore-server" ]
}
if ! is_built && ! command -v go >/dev/null; then
  if [ -n "$if_there" ]; then
    echo "left out, since there is no TiKV cluster, nor Go to build servers for tests: $*" >&2
    exit 0
  fi
  echo "error: there is no TiKV cluster, nor Go to build servers for tests" >&2
  echo "hint: set TIKV_PD to the addresses of PD servers, or install Go" >&2
  exit 1
fi
if ! is_built; then
  echo "building PD and a store for tests" >&2
  mkdir -p "$built"
  cp -rf "$root/tools/tikv-servers/." "$built/"
  version=github.com/tikv/pd/pkg/versioninfo.PDReleaseVersion=v8.1.0
  (cd "$built/pd" && go build -mod=mod -tags without_dashboard -ldflags "-X $version" -o pd-server \
    github.com/tikv/pd/cmd/pd-server)
  (cd "$built/unistore" && go build -mod=mod -o unistore-server .)
fi

folder=$(mktemp -d)
stop() {
  for server in store pd; do
    # A test may have killed it.
    [ ! -f "$folder/$server.pid" ] || kill -9 "$(cat "$folder/$server.pid")" 2>/dev/null || true
  done
  rm -rf "$folder"
}
trap stop EXIT

read -r client peer store < <(python3 -c '
import socket
held = [socket.socket() for _ in range(3)]
for one in held:
    one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in held))')

"$built/pd/pd-server" --name pd1 --data-dir "$folder/pd" --client-urls "http://127.0.0.1:$client" \
  --peer-urls "http://127.0.0.1:$peer" --log-file "$folder/pd.log" >"$folder/pd.out" 2>&1 &
echo $! >"$folder/pd.pid"
disown
answers() {
  python3 - "$1" "$2" <<'PY'
import sys, time, urllib.request, socket
kind, port = sys.argv[1:]
for _ in range(600):
    try:
        if kind == "pd":
            text = urllib.request.urlopen(f"http://127.0.0.1:{port}/pd/api/v1/health", timeout=2).read()
            if b'"health": true' in text or b'"health":true' in text:
                sys.exit(0)
        else:
            socket.create_connection(("127.0.0.1", int(port)), timeout=2).close()
            sys.exit(0)
    except OSError:
        pass
    time.sleep(0.1)
sys.exit(1)
PY
}
answers pd "$client" || { echo "error: PD does not start" >&2; tail -n 5 "$folder/pd.out" >&2; exit 1; }

# Tests kill the store, and start it again with this script.
cat >"$folder/store.sh" <<STORE
#!/usr/bin/env bash
"$built/unistore/unistore-server" -pd 127.0.0.1:$client -addr 127.0.0.1:$store -data-dir "$folder/store" \
  -region-size ${TIKV_REGION_BYTES:-262144} >>"$folder/store.out" 2>&1 &
echo \$! >"$folder/store.pid"
STORE
chmod +x "$folder/store.sh"
"$folder/store.sh"
answers store "$store" || { echo "error: the store does not start" >&2; tail -n 5 "$folder/store.out" >&2; exit 1; }

QUIPU_TIKV="127.0.0.1:$client" QUIPU_TIKV_SERVERS="$folder" "$@"
