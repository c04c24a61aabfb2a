#!/bin/sh
set -eu
cd "${APP_DIR:-/app}"
cat > convert.ini <<'INI'
[gauge]
gauge_factor = 2.11
bridge_factor = 1.28
lead_correction = 1.013
apparent_strain = -0.6
reference_temperature = 10
elastic_modulus = 206
zero_samples = 25
INI
python3 convert.py
