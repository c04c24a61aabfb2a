#!/bin/sh
set -eu
cd "${APP_DIR:-/app}"
cat > search.ini <<'INI'
[search]
window = hann
block_length = 512
mains_guard = 4
coarse_step = 1.0
fine_step = 0.05
candidates_kept = 3
INI
python3 plan.py
