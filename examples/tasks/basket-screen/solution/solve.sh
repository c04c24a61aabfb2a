#!/bin/sh
set -eu
cd "${APP_DIR:-/app}"
cat > screen.ini <<'INI'
[basket screen]
cut_off = 3.5
scale_constant = 1.4826
smallest_group = 8
screened_side = upper
INI
python3 screen.py
