#!/bin/sh
# Applies the configuration, shows the state in the database, and destroys.
# Uses the database of PG_CONN_STR, or starts a PostgreSQL server that exists only while this script runs.
set -eu
cd "$(dirname "$0")"

random() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }
export TF_VAR_passphrase="${TF_VAR_passphrase:-$(random)}" TF_VAR_token="${TF_VAR_token:-$(random)}"

if [ -z "${PG_CONN_STR:-}" ]; then
  # Distributions keep the programs of the server outside PATH.
  control=$(command -v pg_ctl || ls /usr/lib/postgresql/*/bin/pg_ctl 2> /dev/null | tail -n 1)
  [ -n "$control" ] || { echo "Install the PostgreSQL server, or set PG_CONN_STR." >&2; exit 1; }
  directory=$(mktemp -d) # a short path, because it contains a socket
  as=
  if [ "$(id -u)" = 0 ]; then # the server refuses to run as root
    chown postgres "$directory"
    as="setpriv --reuid=postgres --clear-groups"
  fi
  trap '(cd "$directory" && $as "$control" -D db -m immediate stop > /dev/null 2>&1) || true; rm -r "$directory"' EXIT
  trap 'exit 1' HUP INT TERM
  (
    cd "$directory"
    $as "$control" -D db -o '-A trust -U postgres --no-sync' init > init.log 2>&1 || { cat init.log >&2; exit 1; }
    $as "$control" -D db -w -l server.log -o "-k $directory -c listen_addresses='' -c fsync=off" start > start.log || { cat server.log >&2; exit 1; }
  )
  export PG_CONN_STR="host=$directory user=postgres dbname=postgres sslmode=disable"
fi

"${LETHE:-lethe}" init -reconfigure > /dev/null
"${LETHE:-lethe}" apply -auto-approve

echo
echo "The state in the database:"
psql "$PG_CONN_STR" -A -t -c "SELECT left(data, 12) || '...' || right(data, 20) FROM lethe_example.states"
echo "Lines with the token in the database: $(psql "$PG_CONN_STR" -A -t -c 'SELECT data FROM lethe_example.states' | grep -c "$TF_VAR_token")"
echo "Objects that Lethe reads from it: $("${LETHE:-lethe}" state list)"

"${LETHE:-lethe}" destroy -auto-approve

# The empty state is still encrypted with the passphrase of this run.
psql "$PG_CONN_STR" -q -c "SET client_min_messages = warning; DROP SCHEMA lethe_example CASCADE"
