#!/bin/sh
# Installs every package that package-lock.json pins, those for development included, if they are not there.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"

if ! [ -x node_modules/.bin/tsc ] || ! [ node_modules/.package-lock.json -nt package-lock.json ]; then
  echo 'Installing what package-lock.json pins ...' >&2
  npm ci --ignore-scripts --no-fund --no-audit --loglevel=error >&2
fi
