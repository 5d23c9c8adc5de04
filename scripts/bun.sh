#!/bin/sh
# Runs the pinned Bun with the arguments given, and installs what package-lock.json pins first if it
# is not there yet. Nothing but Node 20 with npm is assumed, and no package's install script runs:
# the Bun binary is taken from the package of this platform.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$0")")/.." && pwd)

# npm writes node_modules/.package-lock.json last, so it also tells a finished install from a broken one.
# Only a clone has package-lock.json; a package that npm installed has its dependencies beside it already.
if [ -f "$root/package-lock.json" ] && ! [ "$root/node_modules/.package-lock.json" -nt "$root/package-lock.json" ]; then
  echo 'Installing what package-lock.json pins ...' >&2
  (cd "$root" && npm ci --omit=dev --ignore-scripts --no-fund --no-audit --loglevel=error >&2)
fi

for modules in "$root/node_modules" "$root/.."; do
  # The second path is where Bun is when its own install script was allowed to run.
  for bun in "$modules"/@oven/bun-*/bin/bun "$modules/bun/bin/bun.exe"; do
    if [ -x "$bun" ] && "$bun" --version >/dev/null 2>&1; then
      exec "$bun" "$@"
    fi
  done
done

echo "fanfare: no Bun for $(uname -sm) was found under $root/node_modules. Run 'npm ci' there, without --omit=optional." >&2
exit 1
