#!/bin/sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${APP_DIR:-/app}"
python3 "$here/complete.py"
python3 redact.py
