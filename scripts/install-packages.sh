#!/bin/sh
# Installs what package-lock.json pins, if it is not there: `run` what the server runs on, `develop` what
# developing takes as well. No package's install script runs.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$0")")/.." && pwd)
cd "$root"

# A package that npm installed has its dependencies beside it already, and no package-lock.json.
[ -f package-lock.json ] || exit 0

# npm writes this last, so it distinguishes a finished install from a broken one. The sum of what was
# installed is beside it: times change with every checkout.
finished=node_modules/.package-lock.json
stamp=node_modules/.fanfare-installed
sum=$(cksum <package-lock.json)

wanted=$1
# An update must not take away what developing takes.
[ -d node_modules/typescript ] && wanted=develop

if [ -f "$finished" ] && { [ ! -f "$stamp" ] || [ "$(cat "$stamp")" = "$sum" ]; }; then
  [ "$wanted" = run ] && exit 0
  [ -d node_modules/typescript ] && exit 0
fi

# npm would empty the folder behind the link, which belongs to another clone.
if [ -L node_modules ]; then
  echo "fanfare: $root/node_modules is a link to $(readlink -- node_modules), where not everything is that package-lock.json pins. Run 'npm ci' in the folder that it belongs to, or remove the link." >&2
  exit 1
fi

echo 'Installing what package-lock.json pins ...' >&2
if [ "$wanted" = run ]; then omit=--omit=dev; else omit=--include=dev; fi
# npm fails without a cache, and keeps it in the home, which may be read-only. What npm runs knows the path from it.
cache=${npm_config_cache:-${HOME:-}/.npm}
if ! mkdir -p "$cache" 2>/dev/null || [ ! -w "$cache" ]; then
  npm_config_cache=$(mktemp -d)
  export npm_config_cache
  trap 'rm -rf "$npm_config_cache"' EXIT
fi
npm ci "$omit" --ignore-scripts --no-fund --no-audit --loglevel=error >&2
echo "$sum" >"$stamp"
