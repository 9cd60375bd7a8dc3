#!/bin/sh
# Starts an SSH server that exists only while this script runs, and applies the configuration with it.
set -eu
cd "$(dirname "$0")"

sshd=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v sshd) || { echo "Install the OpenSSH server." >&2; exit 1; }
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd # sshd requires it if root runs it

for name in host user; do
  [ -f $name.key ] || ssh-keygen -q -t ed25519 -N '' -C "$name" -f $name.key
done

# Try random ports until one is free.
tries=5
while :; do
  port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 20000))
  cat > sshd.conf <<CONF
Port $port
ListenAddress 127.0.0.1
HostKey $PWD/host.key
AuthorizedKeysFile $PWD/user.key.pub
StrictModes no
PasswordAuthentication no
UsePAM no
PermitRootLogin yes
PidFile none
CONF
  "$sshd" -D -e -f "$PWD/sshd.conf" 2> sshd.log &
  server=$!
  trap 'kill $server 2> /dev/null' EXIT
  trap 'exit 1' HUP INT TERM
  polls=50
  while kill -0 $server 2> /dev/null && [ $((polls -= 1)) -gt 0 ]; do
    ! ssh-keyscan -p $port 127.0.0.1 2> /dev/null | grep -q . || break 2
    sleep 0.1
  done
  [ $((tries -= 1)) -gt 0 ] || { cat sshd.log >&2; exit 1; }
done

export TF_VAR_user="$(id -un)" TF_VAR_tunnel_port=$port TF_VAR_host_key="$(cat host.key.pub)"
"${LETHE:-lethe}" apply -auto-approve
