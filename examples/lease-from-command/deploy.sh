# Deploys something, if the token is valid.
set -eu
digest=$(printf %s "$TOKEN" | { sha256sum 2> /dev/null || shasum -a 256; } | cut -d ' ' -f 1)
grep -q -r "^$digest" open-tokens || { echo "The token is not valid." >&2; exit 1; }
"$SUCCEED"
echo "deploy" >> tokens.log
