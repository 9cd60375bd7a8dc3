#!/bin/sh
# Uses the server of VAULT_ADDR and VAULT_TOKEN, or starts a development server that exists only while this script runs.
set -eu
cd "$(dirname "$0")"
. ./api.sh

if [ -z "${VAULT_ADDR:-}" ]; then
  server=$(command -v bao || command -v vault) || {
    echo "Install OpenBao or Vault, or set VAULT_ADDR and VAULT_TOKEN." >&2
    exit 1
  }
  export VAULT_ADDR=http://127.0.0.1:8287 VAULT_TOKEN=root
  "$server" server -dev -dev-no-store-token -dev-root-token-id=root -dev-listen-address=127.0.0.1:8287 > server.log 2>&1 &
  pid=$!
  trap 'kill $pid' EXIT
  trap 'exit 1' HUP INT TERM
  tries=50
  until curl --silent --fail --output /dev/null "$VAULT_ADDR/v1/sys/health"; do
    [ $((tries -= 1)) -gt 0 ] || { cat server.log >&2; exit 1; }
    sleep 0.2
  done
fi

tokens() { api "$VAULT_TOKEN" LIST auth/token/accessors | tr ',' '\n' | grep -c -E '[0-9A-Za-z]{20}"'; }

# The secret that Lethe reads, and the policy of the token.
password=${DB_PASSWORD:-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')}
api "$VAULT_TOKEN" POST secret/data/lethe-example "{\"data\": {\"password\": \"$password\"}}" > /dev/null
api "$VAULT_TOKEN" POST sys/policies/acl/lethe-example \
  '{"policy": "path \"secret/data/lethe-example\" { capabilities = [\"read\"] }"}'

before=$(tokens)
"${LETHE:-lethe}" apply -auto-approve
echo "Tokens of the server before the apply: $before, after it: $(tokens)"
