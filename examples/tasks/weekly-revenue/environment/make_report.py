"""Write weekly.csv from orders.csv by the settings in report.ini."""

import configparser
import csv
from collections import defaultdict
from datetime import datetime, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MODES = {"half_up": ROUND_HALF_UP, "half_even": ROUND_HALF_EVEN, "down": ROUND_DOWN}
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t"}
MARKS = {"point": ".", "comma": ","}
ENDS = {"lf": "\n", "crlf": "\r\n"}


def week_of(placed, settings):
    """First day of the trading week of a time stamp."""
    day = datetime.fromisoformat(placed) - timedelta(hours=int(settings["day_close_hour"]))
    back = (day.weekday() - DAYS.index(settings["week_start"])) % 7
    return (day - timedelta(days=back)).date().isoformat()


def main():
    parser = configparser.ConfigParser(inline_comment_prefixes="#")
    parser.read("report.ini", encoding="utf-8")
    settings = parser["weekly revenue"]
    blank = [name for name, value in settings.items() if not value]
    if blank:
        raise SystemExit(f"report.ini: no value for {', '.join(blank)}")
    groups = defaultdict(list)
    with open("orders.csv", encoding="utf-8", newline="") as source:
        for order in csv.DictReader(source):
            key = week_of(order["placed"], settings), order["region"]
            groups[key].append(Decimal(order["gross"]))
    step = Decimal(1).scaleb(-int(settings["money_places"]))
    rows = [["week", "region", "orders", "gross"]]
    for (week, region), values in sorted(groups.items()):
        gross = sum(values).quantize(step, MODES[settings["rounding_mode"]])
        rows.append([week, region, str(len(values)), str(gross).replace(".", MARKS[settings["decimal_mark"]])])
    separator, end = SEPARATORS[settings["field_separator"]], ENDS[settings["line_ending"]]
    text = "".join(separator.join(row) + end for row in rows)
    with open("weekly.csv", "wb") as target:
        target.write(text.encode(settings["text_encoding"]))
    print(f"weekly.csv: {len(rows) - 1} rows")


if __name__ == "__main__":
    main()
