#!/usr/bin/env bash
# Installs, builds, and runs all tests; ends with their count. Arguments go to 'meson test'
# ('--suite unit', '--list', ...).
set -euo pipefail
cd "$(dirname "$0")/.."
. apps/setup.sh

install_packages "${build_packages[@]}" "${test_packages[@]}"
build true

say "Testing"
status=0
meson test -C build --no-rebuild --print-errorlogs "$@" || status=$?
[ -f build/meson-logs/testlog.json ] || exit "$status"
python3 - <<'PYTHON'
import json
results = [json.loads(line)["result"] for line in open("build/meson-logs/testlog.json")]
passed = results.count("OK") + results.count("EXPECTEDFAIL")
skipped = results.count("SKIP")
print(f"{passed} passed, {len(results) - passed - skipped} failed, {skipped} skipped")
PYTHON
exit "$status"
