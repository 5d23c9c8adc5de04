#!/bin/sh
# Collects what the image has beside the server, from Debian's packages: glibc, the certificate authorities, users.
#
#   sh rootfs.sh amd64|arm64 FOLDER
#
# FOLDER/rootfs becomes the root, FOLDER/volume holds the volume. Needs Debian's apt-get, dpkg-deb and keys, and no root rights. No program of
# the other architecture runs. DEBIAN_MIRROR replaces http://deb.debian.org.
set -eu
umask 022
# The order of names, also of the certificates below, is the same in every language.
export LC_ALL=C

architecture=$1
mkdir -p "$2"
folder=$(CDPATH='' cd -- "$2" && pwd)
mirror=${DEBIAN_MIRROR:-http://deb.debian.org}
release=bookworm
packages='base-files ca-certificates libc6'
keys=/usr/share/keyrings/debian-archive-keyring.gpg

case $architecture in
  amd64) machine=x86_64-linux-gnu loader=lib64/ld-linux-x86-64.so.2 ;;
  arm64) machine=aarch64-linux-gnu loader=lib/ld-linux-aarch64.so.1 ;;
  *) echo "rootfs.sh: there is no image for $architecture" >&2; exit 1 ;;
esac
[ -f "$keys" ] || { echo "rootfs.sh: $keys is missing. Run: apt-get install debian-archive-keyring" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# An apt of its own: that of this machine keeps its sources, its architecture and its state.
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/debs" "$work/all"
: >"$work/status"
cat >"$work/sources.list" <<LIST
deb [signed-by=$keys] $mirror/debian $release main
deb [signed-by=$keys] $mirror/debian $release-updates main
deb [signed-by=$keys] $mirror/debian-security $release-security main
LIST
own_apt() {
  apt-get -qq -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" \
    -o Dir::State="$work" -o Dir::State::Lists="$work/lists" -o Dir::State::status="$work/status" \
    -o Dir::Cache="$work/cache" -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Acquire::Languages=none -o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=3 "$@"
}
own_apt update
# shellcheck disable=SC2086
(cd "$work/debs" && own_apt download $packages)
for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$work/all"; done

root=$folder/rootfs
rm -rf "$root" "$folder/volume"
mkdir -p "$root/etc/ssl/certs" "$root/lib/$machine" "$root/$(dirname $loader)" "$root/usr/bin" "$root/var/lib/dpkg/status.d" \
  "$root/usr/share/doc" "$root/tmp" "$root/proc" "$root/sys" "$root/dev" "$folder/volume/data"
# OpenShift runs containers as any user with the group of root.
chmod 770 "$folder/volume/data"
chmod 1777 "$root/tmp"

for library in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0; do
  cp -L "$work/all/lib/$machine/$library" "$root/lib/$machine/$library"
done
cp -L "$work/all/$loader" "$root/$loader"
chmod 755 "$root/$loader"
cat "$work"/all/usr/share/ca-certificates/mozilla/*.crt >"$root/etc/ssl/certs/ca-certificates.crt"
cp "$work/all/usr/lib/os-release" "$root/etc/os-release"
# Scanners find the packages and their versions here.
for package in $packages; do
  dpkg-deb -f "$work/debs/${package}"_*.deb >"$root/var/lib/dpkg/status.d/$package"
  mkdir "$root/usr/share/doc/$package"
  cp "$work/all/usr/share/doc/$package/copyright" "$root/usr/share/doc/$package/copyright"
done

cat >"$root/etc/passwd" <<USERS
root:x:0:0:root:/:/nonexistent
fanfare:x:10001:10001:Fanfare:/data:/nonexistent
USERS
printf 'root:x:0:\nfanfare:x:10001:\n' >"$root/etc/group"
printf 'hosts: files dns\n' >"$root/etc/nsswitch.conf"
chmod -R u=rwX,go=rX "$root"
chmod 1777 "$root/tmp"
