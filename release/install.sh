#!/bin/sh
# Installs a release of Lethe: downloads the archive for this machine, compares it with SHA256SUMS, and puts the program
# into a directory. The script needs no root, and changes nothing else.
#
#   sh install.sh [-d DIRECTORY] [-v VERSION] [-u URL] [-k FILE]
#
# DIRECTORY is ~/.local/bin by default. URL is the place of the files of the release, or a directory of this machine.
#
# If sqv or gpg is installed, the script checks the signature of SHA256SUMS. It trusts the key in FILE, or else the key
# that is in the script. It downloads no key: somebody who can replace the files of a release can also put a key beside
# them. With -k, a signature that cannot be checked is an error.
set -eu

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

version=@VERSION@
dir=${HOME:+$HOME/.local/bin}
url=
keyfile=
usage='sh install.sh [-d DIRECTORY] [-v VERSION] [-u URL] [-k FILE]'
while getopts d:v:u:k: option; do
	case $option in
	d) dir=$OPTARG ;;
	v) version=$OPTARG ;;
	u) url=$OPTARG ;;
	k) keyfile=$OPTARG ;;
	*) fail "usage: $usage" ;;
	esac
done
shift $((OPTIND - 1))
[ $# = 0 ] || fail "\"$1\" is not an option. -d is followed by the directory to install into: $usage"
[ -n "$dir" ] || fail "HOME is not set: say with -d where to install"
[ -z "$keyfile" ] || [ -r "$keyfile" ] || fail "the key $keyfile cannot be read"
url=${url:-https://github.com/lethe-iac/lethe/releases/download/v$version}

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
FreeBSD) os=freebsd ;;
*) fail "there is no release for $(uname -s)" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no release for $(uname -m)" ;;
esac

get() {
	case $url in
	http://* | https://*)
		if command -v curl >/dev/null; then
			curl -fsSL "$url/$1" -o "$work/$1"
		else
			wget -q "$url/$1" -O "$work/$1"
		fi
		;;
	*) cp "$url/$1" "$work/$1" ;;
	esac || fail "$url/$1 cannot be downloaded"
}

# own_key prints the public key that the release put into this script. It prints nothing if no key was published, or if
# the script is not from a release and has a placeholder instead.
own_key() {
	sed '/^@/d' <<'END'
@KEY@
END
}

# signed checks that the key in $work/key signed SHA256SUMS. The status lines of gpg decide, because it also exits with 0
# if the key is revoked. A key that has expired since is accepted, because nobody can renew the signatures of old releases.
# A separate home directory keeps the user's keys out of the decision. Importing returns an error without an agent, which
# it does not need here: without the key, verifying fails.
signed() {
	if command -v sqv >/dev/null; then
		sqv --keyring "$work/key" "$work/SHA256SUMS.sig" "$work/SHA256SUMS"
	else
		mkdir -m 700 "$work/gnupg"
		gpg --homedir "$work/gnupg" --no-autostart --batch --quiet --import "$work/key" || :
		gpg --homedir "$work/gnupg" --no-autostart --batch --trust-model always --status-fd 1 \
			--verify "$work/SHA256SUMS.sig" "$work/SHA256SUMS" >"$work/status" &&
			grep -Eq '^\[GNUPG:\] (GOODSIG|EXPKEYSIG) ' "$work/status" && grep -q '^\[GNUPG:\] VALIDSIG ' "$work/status"
	fi
}

# check_signature requires a good signature if a key is known and a program can check it.
check_signature() {
	if [ -n "$keyfile" ]; then
		cp "$keyfile" "$work/key"
	else
		own_key >"$work/key"
	fi
	if ! [ -s "$work/key" ]; then
		echo "The signature is not checked, because no key is known. -k FILE gives one."
	elif command -v sqv >/dev/null || command -v gpg >/dev/null; then
		get SHA256SUMS.sig
		if ! signed >"$work/log" 2>&1; then
			cat "$work/log" >&2
			fail "SHA256SUMS has no valid signature of the key: nothing was installed"
		fi
		echo "The signature of SHA256SUMS is valid."
	elif [ -n "$keyfile" ]; then
		fail "-k needs sqv or gpg, and neither is installed: nothing was installed"
	else
		echo "The signature is not checked, because neither sqv nor gpg is installed."
	fi
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
archive=lethe_${version}_${os}_$arch.tar.gz
get SHA256SUMS
check_signature
get "$archive"
want=$(awk -v name="$archive" '$2 == name { print $1 }' "$work/SHA256SUMS")
if command -v sha256sum >/dev/null; then
	have=$(sha256sum "$work/$archive" | cut -d' ' -f1)
else
	have=$(shasum -a 256 "$work/$archive" | cut -d' ' -f1)
fi
[ -n "$want" ] || fail "SHA256SUMS does not name $archive"
[ "$want" = "$have" ] || fail "the checksum of $archive differs from SHA256SUMS: nothing was installed"

mkdir -p "$dir"
tar -xzf "$work/$archive" -C "$work" lethe
mv "$work/lethe" "$dir/.lethe.new"
mv "$dir/.lethe.new" "$dir/lethe"
"$dir/lethe" version
case :$PATH: in
*:"$dir":*) ;;
*) echo "Put $dir into PATH to call it as lethe." ;;
esac
