# Reads the secret with the token of the input, and prints the answer of the server.
set -eu
. ./api.sh
token=$(sed -n 's/.*"token":"\([^"]*\)".*/\1/p')
api "$token" GET secret/data/lethe-example
