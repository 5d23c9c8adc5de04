#!/bin/sh
# Prints the version of what is made from this clone. At the tag of the version in package.json it is that version. Elsewhere the time
# of the commit follows it, in UTC, such as 1.2.3+20261128.125550: for Debian, a later build is then a later version. As metadata
# of SemVer it means no order, but still tells builds apart. Without git it is the version in package.json.
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
    version=$version+$(TZ=UTC git log -1 --date=format-local:%Y%m%d.%H%M%S --format=%cd)
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
