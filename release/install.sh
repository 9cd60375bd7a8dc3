#!/bin/sh
# Installs a release of Lethe: downloads the archive for this machine, holds it against SHA256SUMS, and puts the program
# into a directory. No root is needed, and nothing else is changed.
#
#   sh install.sh [-d DIRECTORY] [-v VERSION] [-u URL]
#
# DIRECTORY is ~/.local/bin unless it says otherwise; URL is where the files of the release are, also a directory of this
# machine.
set -eu

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

version=@VERSION@
dir=${HOME:+$HOME/.local/bin}
url=
usage='sh install.sh [-d DIRECTORY] [-v VERSION] [-u URL]'
while getopts d:v:u: option; do
	case $option in
	d) dir=$OPTARG ;;
	v) version=$OPTARG ;;
	u) url=$OPTARG ;;
	*) fail "usage: $usage" ;;
	esac
done
shift $((OPTIND - 1))
[ $# = 0 ] || fail "\"$1\" is not an option. The directory to install into stands after -d: $usage"
[ -n "$dir" ] || fail "HOME is not set: say with -d where to install"
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

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
archive=lethe_${version}_${os}_$arch.tar.gz
get SHA256SUMS
get "$archive"
want=$(awk -v name="$archive" '$2 == name { print $1 }' "$work/SHA256SUMS")
if command -v sha256sum >/dev/null; then
	have=$(sha256sum "$work/$archive" | cut -d' ' -f1)
else
	have=$(shasum -a 256 "$work/$archive" | cut -d' ' -f1)
fi
[ -n "$want" ] || fail "SHA256SUMS does not name $archive"
[ "$want" = "$have" ] || fail "$archive is not what SHA256SUMS says: nothing was installed"

mkdir -p "$dir"
tar -xzf "$work/$archive" -C "$work" lethe
mv "$work/lethe" "$dir/.lethe.new"
mv "$dir/.lethe.new" "$dir/lethe"
"$dir/lethe" version
case :$PATH: in
*:"$dir":*) ;;
*) echo "Put $dir into PATH to call it as lethe." ;;
esac
