# api TOKEN METHOD PATH [JSON] calls the server. curl reads the token and the JSON from its standard input, because all
# users can see its arguments.
api() {
  {
    printf 'header = "X-Vault-Token: %s"\n' "$1"
    [ $# -lt 4 ] || printf 'data = "%s"\n' "$(printf %s "$4" | sed 's/["\\]/\\&/g')"
  } | curl --silent --show-error --fail --config - --request "$2" "$VAULT_ADDR/v1/$3"
}
