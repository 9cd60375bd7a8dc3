# Opens, renews and closes a token. Standard input: {"action": "open", "input": ..., "result": ..., "renewed": ...}
set -eu
. ./api.sh
request=$(cat)
accessor=$(printf %s "$request" | sed -n 's/.*"accessor":"\([^"]*\)".*/\1/p') # names the token in the results of open

case $request in
*'"action":"open"'*) api "$VAULT_TOKEN" POST auth/token/create '{"policies": ["lethe-example"], "ttl": "10m"}' ;;
*'"action":"renew"'*) api "$VAULT_TOKEN" POST auth/token/renew-accessor "{\"accessor\": \"$accessor\"}" ;;
*'"action":"close"'*) [ -z "$accessor" ] || api "$VAULT_TOKEN" POST auth/token/revoke-accessor "{\"accessor\": \"$accessor\"}" ;;
esac
