#!/bin/sh
# Installs the Fanfare binary for this machine:
#
#   sh install.sh --from URL-OR-FOLDER [--version VERSION] [--bin-dir DIRECTORY]
#
# FROM holds SHA256SUMS and fanfare-VERSION-linux-x64.tar.gz or -arm64.tar.gz. Nothing is installed unless its sum is right.
set -eu

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# Copies a file of FROM into the temporary folder.
fetch() {
  case $from in
    http://* | https://*)
      if has curl; then curl -fsSL --retry 3 --connect-timeout 20 -o "$work/$1" "$from/$1"
      elif has wget; then wget -q -T 20 -O "$work/$1" "$from/$1"
      else fail 'curl or wget is needed'
      fi ;;
    *) cp "$from/$1" "$work/$1" ;;
  esac || fail "$from/$1 cannot be read"
}

sum_of() {
  if has sha256sum; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# All of it is read before any of it runs, also when it comes through a pipe that breaks.
main() {
  from='' version='' bin_dir=''
  while [ $# -gt 0 ]; do
    case $1 in
      -h | --help)
        echo 'sh install.sh --from URL-OR-FOLDER [--version VERSION] [--bin-dir DIRECTORY]'
        exit ;;
    esac
    [ $# -gt 1 ] || fail "$1 needs a value"
    case $1 in
      --from) from=${2%/} ;;
      # Tags begin with v.
      --version) version=${2#v} ;;
      --bin-dir) bin_dir=$2 ;;
      *) fail "unknown option $1" ;;
    esac
    shift 2
  done
  [ -n "$from" ] || fail '--from is missing: the folder or the address of a release'

  [ "$(uname -s)" = Linux ] || fail "there is no binary for $(uname -s); use npm"
  case $(uname -m) in
    x86_64 | amd64) platform=linux-x64 ;;
    aarch64 | arm64) platform=linux-arm64 ;;
    *) fail "there is no binary for $(uname -m)" ;;
  esac

  if [ -z "$bin_dir" ]; then
    if [ -w /usr/local/bin ]; then bin_dir=/usr/local/bin; else bin_dir=$HOME/.local/bin; fi
  fi

  work=$(mktemp -d)
  unfinished=''
  trap 'rm -rf "$work" ${unfinished:+"$unfinished"}' EXIT
  trap 'exit 1' INT TERM

  fetch SHA256SUMS
  if [ -z "$version" ]; then
    version=$(sed -n "s/^[0-9a-f]\{64\}  fanfare-\([0-9][0-9A-Za-z.+-]*\)-$platform\.tar\.gz\$/\1/p" "$work/SHA256SUMS")
    if [ -z "$version" ]; then
      named=$(awk 'NF > 1 { $1 = ""; print }' "$work/SHA256SUMS" | tr -d '\n')
      fail "$from/SHA256SUMS names no fanfare-VERSION-$platform.tar.gz, so there is nothing to install for this machine. It names:${named:- nothing}"
    fi
    [ "$(printf '%s\n' "$version" | wc -l)" -eq 1 ] || fail "$from has several versions: choose one with --version:$(printf ' %s' $version)"
  fi
  name=fanfare-$version-$platform
  wanted=$(awk -v file="$name.tar.gz" '$2 == file { print $1 }' "$work/SHA256SUMS")
  [ -n "$wanted" ] || fail "$from/SHA256SUMS has no sum of $name.tar.gz; nothing was installed"
  fetch "$name.tar.gz"
  found=$(sum_of "$work/$name.tar.gz")
  [ "$found" = "$wanted" ] || fail "$name.tar.gz is not what SHA256SUMS says; nothing was installed"

  tar -xzf "$work/$name.tar.gz" -C "$work" "$name/fanfare"
  mkdir -p "$bin_dir" || fail "$bin_dir cannot be made"
  [ ! -d "$bin_dir/fanfare" ] || fail "$bin_dir/fanfare is a directory; choose another with --bin-dir"
  # Renamed at the end, because a running server must keep its file.
  unfinished=$bin_dir/.fanfare-$$
  cp "$work/$name/fanfare" "$unfinished" || fail "$bin_dir cannot be written to; choose another with --bin-dir"
  chmod 755 "$unfinished"
  if says=$("$unfinished" --version); then status=0; else status=$?; fi
  # 128 and the number of SIGILL.
  [ "$status" -ne 132 ] || fail 'this processor lacks instructions that the binary needs: it needs x86-64-v2, which has SSE4.2 (a virtual machine has it with the CPU type host or x86-64-v2); nothing was installed'
  [ "$status" -eq 0 ] || fail 'the binary does not run on this machine; nothing was installed'
  mv "$unfinished" "$bin_dir/fanfare"
  unfinished=''

  echo "Installed $bin_dir/fanfare: $says"
  case :$PATH: in
    *:"$bin_dir":*) echo 'Start it: fanfare serve' ;;
    *) echo "Start it: $bin_dir/fanfare serve" ;;
  esac
}

main "$@"
