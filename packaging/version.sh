#!/bin/sh
# Prints the version of what is made from this clone. At the tag of the version in package.json it is that version. Elsewhere it has
# the time of the commit, in UTC, so that a later build has a later version: 1.2.3-dev.20261128130037 until CHANGELOG.md says that 1.2.3
# was released, which is before 1.2.3, and then 1.2.3+20261128130037, which for Debian is after it. Without git it is the version in
# package.json.
#
# With --build-args, prints the arguments of `docker build` for the labels of the image.
set -eu
cd "$(dirname "$0")/.."

version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json)
commit=unknown
if [ -e .git ] && head=$(git rev-parse --verify --quiet HEAD); then
  commit=$head
  changes=$(git status --porcelain)
  if [ -n "$changes" ] || ! git tag --points-at HEAD | grep -qxF "v$version"; then
    if grep -qF "## $version — " CHANGELOG.md; then version=$version+; else version=$version-dev.; fi
    version=$version$(TZ=UTC git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd)
  fi
  if [ -n "$changes" ]; then
    version=$version.modified
    commit=$commit-modified
  fi
fi

if [ "${1:-}" = --build-args ]; then
  echo "--build-arg VERSION=$version --build-arg COMMIT=$commit"
else
  echo "$version"
fi
