#!/bin/sh
set -eu
cd "${APP_DIR:-/app}"
cat > layout.ini <<'INI'
[layout]
growth_factor = 1.12
smallest_bucket = 4
bucket_limit = 64
flush_interval = 250
INI
python3 plan.py
