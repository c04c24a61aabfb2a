#!/bin/sh
set -eu
cd "${APP_DIR:-/app}"
sed -i \
  -e 's/^ERROR_BUDGET_BURN = None/ERROR_BUDGET_BURN = 8/' \
  -e 's/^BURN_WINDOW = None/BURN_WINDOW = 12/' \
  -e 's/^REPEAT_PAUSE = None/REPEAT_PAUSE = 45/' \
  -e 's/^ESCALATE_AFTER = None/ESCALATE_AFTER = 3/' \
  -e 's/^QUIET_START = None/QUIET_START = 22/' \
  -e 's/^QUIET_END = None/QUIET_END = 6/' \
  -e 's/^OBJECTIVE = None/OBJECTIVE = 99.8/' \
  -e 's/^FEWEST_REQUESTS = None/FEWEST_REQUESTS = 200/' \
  -e 's/^UNKNOWN_CLASS_SEVERITY = None/UNKNOWN_CLASS_SEVERITY = "minor"/' \
  rules.py
