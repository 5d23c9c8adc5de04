#!/bin/sh
# npm test: installs what the tests need, as far as it may, and runs them. Without arguments all of them; with
# paths those files or folders; other arguments go to `bun test`. `npm run unit` runs those of src, sdk, bench and testing.
# `npm run test:matrix` runs those of clusters, and what clients and backends see of a server again: with two threads, over
# the HTTP transports, and with two servers over Redis that act as one. Servers run from the binary that `npm run build` makes,
# where it is for this machine: it starts in half the CPU time.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
# Tests run programs as other users, who must be able to read what this run makes.
umask 022

sh scripts/install-packages.sh develop

# Unit tests start no program and touch no global state, so their files share processes.
unit='./src ./sdk ./bench ./testing'
paths=''
options=''
mode=one
for argument in "$@"; do
  case $argument in
    --matrix) mode=matrix ;;
    -*) options="$options $argument" ;;
    *) paths="$paths $argument" ;;
  esac
done
# Whether everything that is to be run lies in src, sdk, bench or testing.
is_unit() {
  [ $# -gt 0 ] || return 1
  for path in "$@"; do
    case $path in src* | sdk* | bench* | testing* | ./src* | ./sdk* | ./bench* | ./testing*) ;; *) return 1 ;; esac
  done
}

# The folder of this run: for the databases of tests, and for whatever else they write. In memory if there is room,
# where PostgreSQL and SQLite need half the time.
memory=/dev/shm
free_kib=$(df -Pk "$memory" 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ -w "$memory" ] && [ "${free_kib:-0}" -gt 2000000 ]; then folder=$memory; else folder=${TMPDIR:-/tmp}; fi
TEST_RUN_FOLDER=$(mktemp -d "$folder/fanfare-tests-XXXXXX")
TMPDIR=$TEST_RUN_FOLDER
export TEST_RUN_FOLDER TMPDIR
# PostgreSQL runs as a user of its own, and must reach its folder in here.
chmod 711 "$TEST_RUN_FOLDER"
# npm fails without a cache, and keeps it in the home, which may be read-only.
[ -w "${HOME:-}" ] || export npm_config_cache="$TEST_RUN_FOLDER/npm-cache"

# Ends what tests have left running: servers and Firefox, if they were started in this folder, and PostgreSQL, which
# cleans up after itself.
tidy_up() {
  for file in "$TEST_RUN_FOLDER"/*postgres*/data/postmaster.pid; do
    if [ -f "$file" ]; then kill -INT "$(head -n 1 "$file")" 2>/dev/null || true; fi
  done
  if [ -f "$TEST_RUN_FOLDER/redis/pid" ]; then kill "$(cat "$TEST_RUN_FOLDER/redis/pid")" 2>/dev/null || true; fi
  for pid in $(pgrep -f -- "--(config|profile) $TEST_RUN_FOLDER" 2>/dev/null || true); do kill -KILL "$pid" 2>/dev/null || true; done
  for file in "$TEST_RUN_FOLDER"/*postgres*/data/postmaster.pid; do
    for _ in 1 2 3 4 5 6 7 8 9 10; do [ -f "$file" ] && sleep 0.3; done
  done
  rm -rf "$TEST_RUN_FOLDER"
}
trap tidy_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# What `npm run test:matrix` runs: all that clients and backends see of a server. Push has nothing to do with threads.
channels='test/protocol/websocket test/protocol/http test/protocol/webhooks'
on_two_threads="$channels test/protocol/http-transports $(find test/compat test/browser -name '*.test.ts' ! -name 'push-*' | sort | tr '\n' ' ')"
on_two_servers="$channels test/protocol/http-transports test/compat test/browser test/admin"
# All rules that do not depend on what a WebSocket alone has: its handshake, its frames, its own pings.
over_http="$(for rules in subscribing client-events presence users cache-channels subscription-counts authorisation \
  channel-names encrypted-channels encoding; do echo "test/protocol/websocket/$rules.test.ts"; done | tr '\n' ' ')
  test/browser/channels.test.ts test/browser/users.test.ts test/browser/laravel-echo.test.ts test/browser/restart.test.ts"

# Test processes and their servers live for seconds, and compiling took an eighth of the CPU time. So a function must
# run more often before the runtime compiles it.
export BUN_JSC_thresholdForJITAfterWarmUp=2000 BUN_JSC_thresholdForJITSoon=2000
export BUN_JSC_thresholdForOptimizeAfterWarmUp=10000 BUN_JSC_thresholdForOptimizeAfterLongWarmUp=10000
export BUN_JSC_thresholdForOptimizeSoon=10000

log=$TEST_RUN_FOLDER/log
: >"$log"
status=0

# Runs `bun test`, shows what fails, and keeps it for the sum at the end. The slowest files start first;
# `npm test -- --update-timings` measures them again.
run() {
  code=$TEST_RUN_FOLDER/code
  { sh scripts/bun.sh test --timeout 180000 --only-failures --timings=scripts/test-timings.json "$@" 2>&1 || echo $? >"$code"; } | tee -a "$log"
  if [ -f "$code" ]; then
    status=$(cat "$code")
    rm "$code"
  fi
}

build() {
  TEST_PROGRAM=$TEST_RUN_FOLDER/bundle/main.js
  export TEST_PROGRAM
  sh scripts/bun.sh testing/servers/bundle.ts "$TEST_RUN_FOLDER/bundle"
  if [ "$(uname -sm)" = 'Linux x86_64' ]; then
    TEST_BINARY=$(sh scripts/bun.sh packaging/build.ts --out "$TEST_RUN_FOLDER/binary")
    export TEST_BINARY
  fi
}

# Paths and options are words without spaces.
# shellcheck disable=SC2086
if [ "$mode" = matrix ]; then
  sh scripts/install-tools.sh ${paths:-$on_two_servers} test/cluster
  build
  [ -n "$paths" ] || run --parallel=4 $options test/cluster
  echo 'Servers with two realtime threads:'
  export TEST_THREADS=2
  run --parallel=4 $options ${paths:-$on_two_threads}
  unset TEST_THREADS
  for transport in xhr_streaming xhr_polling; do
    echo "Clients without WebSockets, over $transport:"
    export TEST_TRANSPORT=$transport
    run --parallel=4 $options ${paths:-$over_http}
  done
  unset TEST_TRANSPORT
  echo 'Two servers over Redis that act as one, each connection to the next of them:'
  export TEST_SERVERS=2
  run --parallel=4 $options ${paths:-$on_two_servers}
elif is_unit $paths; then
  run --parallel=2 --no-isolate $options $paths
else
  sh scripts/install-tools.sh $paths ${paths:+${TEST_SERVERS:+test/cluster}}
  if [ -z "$paths" ]; then
    run --parallel=2 --no-isolate $options $unit
    # Those of clusters are in the matrix, those of proxies in `npm run test:proxies`, that of a real authority in
    # `npm run test:acme`, those of libraries in other languages in `npm run test:sdks`, and the slow ones of what is
    # shipped in `npm run test:packages`.
    paths=$(find ./test -mindepth 1 -maxdepth 1 \( -type d ! -name acme ! -name cluster ! -name packages ! -name proxies ! -name sdks -o -name '*.test.ts' \) | sort | tr '\n' ' ')
  fi
  build
  # Most of these tests wait for servers most of the time.
  run --parallel=5 $options $paths
fi

# The files that failed, each with its tests.
awk '/^[^ ]*\.test\.ts:$/ { file = $0 } /^\(fail\)/ { if (file != "") print "\n" file; file = ""; print }' "$log"

sum() { awk -v "what=$1" '$2 == what && NF == 2 { all += $1 } END { print all + 0 }' "$log"; }
echo
echo " $(sum pass) pass"
echo " $(sum fail) fail"
exit "$status"
