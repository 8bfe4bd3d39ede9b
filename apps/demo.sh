#!/usr/bin/env bash
# Installs, builds, and sums the real gradients of one training step of a recommendation model over
# four workers and an aggregator, each a process: over DPDK (shared memory), then over kernel sockets.
# Builds all programs and the library, but no tests.
set -euo pipefail
cd "$(dirname "$0")/.."
. apps/setup.sh

install_packages "${build_packages[@]}"
build false apps/sumwire-aggregator apps/sumwire-run apps/sumwire-bench \
    apps/library/libsumwire.so.0.1.0

for transport in memif udp; do
    say "Four workers and an aggregator over $transport"
    build/apps/sumwire-run --transport "$transport" --codec all --arithmetic all --iterations 5 \
        --gradients tests/data/gradients/ncf
done
