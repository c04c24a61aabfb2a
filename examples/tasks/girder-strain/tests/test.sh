#!/bin/sh
mkdir -p "${LOGS_DIR:-/logs}/verifier"
python3 "${TESTS_DIR:-/tests}/check.py"
