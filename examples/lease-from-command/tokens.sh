# Issues, renews and revokes tokens. Replace it by the program of your password manager or cloud.
# Standard input: {"action": "open", "input": {...}, "result": ..., "renewed": ...}
set -eu
request=$(cat)
umask 077
mkdir -p open-tokens

case $request in
*'"action":"open"'*)
  id=$(od -An -N4 -tx1 /dev/urandom | tr -d ' \n')
  token=${DEMO_TOKEN:-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')}
  # A service stores a digest of the token, not the token.
  printf %s "$token" | { sha256sum 2> /dev/null || shasum -a 256; } | cut -d ' ' -f 1 > "open-tokens/$id"
  echo "open" >> tokens.log
  printf '{"id": "%s", "token": "%s"}\n' "$id" "$token" # the result of the lease
  ;;
*'"action":"renew"'*)
  echo "renew" >> tokens.log
  ;;
*'"action":"close"'*)
  id=$(printf %s "$request" | sed -n 's/.*"result":{"id":"\([0-9a-f]*\)".*/\1/p')
  rm "open-tokens/$id"
  echo "close" >> tokens.log
  ;;
esac
