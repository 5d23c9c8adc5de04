#!/bin/sh
# npm test: installs what the tests need, as far as it may, and runs all of them. Arguments go to `bun test`.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"

sh scripts/install-packages.sh develop
sh scripts/install-tools.sh
# Most tests wait for servers most of the time: on two cores, three workers take half as long as one.
exec sh scripts/bun.sh test --timeout 60000 --parallel=3 "$@"
