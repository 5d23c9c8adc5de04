#!/bin/sh
# What can be checked without running anything: types, format and lint, code that nobody uses.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"

sh scripts/install-packages.sh develop
node_modules/.bin/tsc --noEmit
# The dashboard runs in browsers, so it has other globals.
node_modules/.bin/tsc --noEmit --project src/dashboard
node_modules/.bin/biome check .
node_modules/.bin/knip
