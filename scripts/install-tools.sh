#!/bin/sh
# Installs the programs that tests start, if they are not there: two real browsers, PostgreSQL, PgBouncer, Redis, openssl
# for certificates, and PHP with Laravel. Given paths of tests, only what those start. Debian's packages are used where this may be done;
# elsewhere it prints what to run.
set -eu

missing=''
has() { command -v "$1" >/dev/null 2>&1; }

# Whether tests of one of these folders will run, or of these files.
paths=$*
runs() {
  [ -n "$paths" ] || return 0
  for path in $paths; do
    path=${path#./}
    path=${path%/}
    for part in "$@"; do
      case $path in *"$part"*) return 0 ;; esac
      case $part in "$path"/*) return 0 ;; esac
    done
  done
  return 1
}

if runs test/browser test/compat/pusher-js-specs test/examples/encrypted; then
  has chromium || has chromium-browser || has google-chrome || missing="$missing chromium"
  # Most tests take half the CPU time with it, and run without it where it is not to be had.
  if has apt-get && [ "$(id -u)" = 0 ]; then
    has chromium-headless-shell || missing="$missing chromium-headless-shell"
  fi
fi
if runs test/browser/firefox test/browser/push-firefox test/examples/web-push; then
  has firefox-esr || has firefox || missing="$missing firefox-esr"
fi
if runs test/contracts test/cli test/cluster test/failure test/upgrade; then
  # Debian keeps PostgreSQL's own programs off the PATH.
  has initdb || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
fi
if runs test/contracts test/cluster test/failure test/upgrade; then
  has redis-server || missing="$missing redis-server"
fi
if runs test/failure; then
  # Where root looks for programs.
  has pgbouncer || [ -x /usr/sbin/pgbouncer ] || missing="$missing pgbouncer"
fi
if runs test/cli test/protocol/push; then
  has openssl || missing="$missing openssl"
fi
if runs test/examples/laravel; then
  # The parts of Laravel that broadcast, and PHP with them.
  [ -d /usr/share/php/Illuminate/Broadcasting ] || missing="$missing php-illuminate-broadcasting php-illuminate-events"
fi
if runs test/compat/webhook-programs; then
  has php || missing="$missing php-cli"
  has python3 || missing="$missing python3"
  has rackup || missing="$missing ruby-rack"
fi
# Of Debian's Prometheus only the program that checks its rules: the package would start a server.
if runs test/packaging && ! has promtool; then promtool=prometheus; else promtool=''; fi
# Only on request: no other tests need them.
if [ -n "$paths" ] && runs test/proxies; then
  for program in nginx haproxy caddy chromium redis-server openssl; do has $program || missing="$missing $program"; done
  has initdb || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
fi
# Only on request too. Debian's Go is too old to build it.
if [ -n "$paths" ] && runs test/acme && ! has pebble && [ ! -x "$HOME/go/bin/pebble" ]; then
  has go || { echo 'The tests need Pebble, and Go 1.24 or later to build it: https://go.dev/dl' >&2; exit 1; }
  GOBIN="$HOME/go/bin" go install github.com/letsencrypt/pebble/v2/cmd/pebble@v2.10.1 >&2
fi
if [ -n "$paths" ] && runs test/acme test/packages; then
  has redis-server || missing="$missing redis-server"
  has initdb || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
fi
# Only on request too. The libraries themselves come from the registries of their languages.
if [ -n "$paths" ] && runs test/sdks/java; then
  has javac || missing="$missing default-jdk-headless"
  has mvn || missing="$missing maven"
fi
if [ -n "$paths" ] && runs test/sdks/go && ! has go; then missing="$missing golang-go"; fi
if [ -n "$paths" ] && runs test/sdks/python; then
  python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
fi
if [ -n "$paths" ] && runs test/packages; then
  for program in buildah lintian mmdebstrap; do has $program || missing="$missing $program"; done
  has qemu-aarch64-static || missing="$missing qemu-user-static"
  has systemd-nspawn || missing="$missing systemd-container"
fi
[ -n "$missing$promtool" ] || exit 0

if ! has apt-get || [ "$(id -u)" != 0 ]; then
  echo "The tests need programs that are not installed. Install them and run the tests again:" >&2
  echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing $promtool" >&2
  exit 1
fi
echo "Installing$missing${promtool:+ promtool} ..." >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >&2
if [ -n "$missing" ]; then
  # The list is made above, one word per package.
  # shellcheck disable=SC2086
  apt-get install -y -qq --no-install-recommends $missing >&2
fi
if [ -n "$promtool" ]; then
  folder=$(mktemp -d)
  (cd "$folder" && apt-get download -qq -o APT::Sandbox::User=root prometheus >&2)
  dpkg-deb --fsys-tarfile "$folder"/prometheus_*.deb | tar -x -C /usr/local --strip-components=2 ./usr/bin/promtool
  rm -r "$folder"
fi
