#!/bin/sh
# Debian's PostgreSQL server for the tests of campaigns: installed only as root, where apt-get is, and where it is missing.
# If that fails, the tests that need it are skipped and say why.
ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 && exit 0
command -v pg_ctl >/dev/null 2>&1 && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "no PostgreSQL server, and no way to install it: tests on one are skipped"
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
{ apt-get -qq update && apt-get -qq install --yes --no-install-recommends postgresql >/dev/null; } ||
    echo "apt-get could not install postgresql: tests on a server are skipped"
