#!/bin/sh
# npm test: installs what package-lock.json pins, Bun with it, and runs the tests by scripts/run-tests/main.ts. That says
# with --help what can be run.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
# Tests run programs as other users, who must be able to read what this makes.
umask 022

sh scripts/install-packages.sh develop
exec sh scripts/bun.sh scripts/run-tests/main.ts "$@"
