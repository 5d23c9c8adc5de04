#!/bin/sh
# Runs the pinned Bun with the arguments given, and installs what is pinned first if it is not there yet.
# Nothing but Node 20 with npm is assumed: the Bun binary is taken from the package of this platform.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$0")")/.." && pwd)

case $root in
  *[?\\]*)
    printf 'fanfare: Bun starts no program in a folder with ? or \\ in its path: %s\n' "$root" >&2
    exit 1 ;;
esac

sh "$root/scripts/install-packages.sh" run

status=0
for modules in "$root/node_modules" "$root/.."; do
  # The second path is where Bun is when its own install script was allowed to run.
  for bun in "$modules"/@oven/bun-*/bin/bun "$modules/bun/bin/bun.exe"; do
    [ -x "$bun" ] || continue
    if "$bun" --version >/dev/null 2>&1; then exec "$bun" "$@"; else status=$?; fi
  done
done

# 128 and the number of SIGILL.
if [ "$status" -eq 132 ]; then
  echo 'fanfare: This processor lacks instructions that Bun needs: it needs x86-64-v2, which has SSE4.2. A virtual machine has it with the CPU type host or x86-64-v2.' >&2
  exit 1
fi
echo "fanfare: no Bun for $(uname -sm) was found under $root/node_modules. Run 'npm ci' there, without --omit=optional." >&2
exit 1
