#!/bin/sh
# Java for the tests of Spark: installed only as root, where apt-get is, and where it is missing.
# If that fails, the tests that need it are skipped and say why.
command -v java >/dev/null 2>&1 && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "no Java, and no way to install it: tests of Spark are skipped"
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
{ apt-get -qq update && apt-get -qq install --yes --no-install-recommends openjdk-17-jre-headless >/dev/null; } ||
    echo "apt-get could not install Java: tests of Spark are skipped"
