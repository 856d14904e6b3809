#!/usr/bin/env bash
# Starts a PostgreSQL server in a temporary folder, runs a command with QUIPU_POSTGRES as its address, and stops it.
#
#     tools/with-postgres.sh cargo test -p quipu-engine-postgres --features postgres
#
# The server listens on a socket in that folder alone. It does not run as root, so root needs `runuser` and a user
# `postgres`, which the packages of PostgreSQL make. Set POSTGRES_BIN if its programs are not found.
#
# With --if-there before the command, a missing server is no error; the command is left out.
set -euo pipefail

if_there=
if [ "${1:-}" = --if-there ]; then
  if_there=yes
  shift
fi
bin="${POSTGRES_BIN:-}"
if [ -z "$bin" ]; then
  bin=$(dirname "$(command -v initdb || ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null | tail -n 1)")
fi
if [ ! -x "$bin/initdb" ]; then
  if [ -n "$if_there" ]; then
    echo "left out, since PostgreSQL is not installed: $*" >&2
    exit 0
  fi
  echo "error: PostgreSQL is not installed" >&2
  echo "hint: on Debian: apt install postgresql" >&2
  exit 1
fi

folder=$(mktemp -d)
as=()
if [ "$(id -u)" = 0 ]; then
  chown postgres "$folder"
  as=(runuser -u postgres --)
fi
trap '"${as[@]}" "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null 2>&1 || true; rm -rf "$folder"' EXIT

"${as[@]}" "$bin/initdb" -D "$folder/data" -U quipu -A trust --no-sync >/dev/null
"${as[@]}" "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w \
  -o "-k $folder -c listen_addresses='' -c max_connections=400 -c shared_buffers=64MB" start >/dev/null
chmod 755 "$folder"
QUIPU_POSTGRES="postgres://quipu@${folder//\//%2F}/postgres" "$@"
