#!/bin/sh
set -eu
cd "${APP_DIR:-/app}"
cat > report.ini <<'INI'
[weekly revenue]
field_separator = semicolon
decimal_mark = comma
text_encoding = utf-8-sig
line_ending = crlf
rounding_mode = half_even
money_places = 1
week_start = saturday
day_close_hour = 4
INI
python3 make_report.py
