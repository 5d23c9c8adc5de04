#!/bin/sh
# Installs the programs that the tests start, if they are not there: two real browsers, PostgreSQL, and
# openssl for certificates. Debian's packages are used where this may be done; elsewhere it says what to run.
set -eu

missing=''
has() { command -v "$1" >/dev/null 2>&1; }
has chromium || has chromium-browser || has google-chrome || missing="$missing chromium"
has firefox-esr || has firefox || missing="$missing firefox-esr"
# Debian keeps PostgreSQL's own programs off the PATH.
has initdb || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
has openssl || missing="$missing openssl"
[ -n "$missing" ] || exit 0

if ! has apt-get || [ "$(id -u)" != 0 ]; then
  echo "The tests need programs that are not installed. Install them and run the tests again:" >&2
  echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
  exit 1
fi
echo "Installing$missing ..." >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >&2
# The list is made above, one word per package.
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing >&2
