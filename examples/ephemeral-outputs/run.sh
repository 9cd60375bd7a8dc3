#!/bin/sh
# ./run.sh stores two keys, and uses them in another configuration. ./run.sh destroy removes both.
# TF_VAR_access_key and TF_VAR_secret_key replace the random keys.
set -eu
cd "$(dirname "$0")"
command=${1:-apply}

random() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }
export TF_VAR_access_key="${TF_VAR_access_key:-$(random)}" TF_VAR_secret_key="${TF_VAR_secret_key:-$(random)}"

for directory in store read; do
  "${LETHE:-lethe}" -chdir=$directory init > /dev/null # installs the module
  "${LETHE:-lethe}" -chdir=$directory "$command" -auto-approve
done
