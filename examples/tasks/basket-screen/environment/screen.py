"""Write summary.json: typical basket values by channel, unusual orders removed."""

import configparser
import csv
import json
from collections import defaultdict
from statistics import mean, median


def screened(values, settings):
    """The values that are no outliers by the robust rule."""
    if len(values) < int(settings["smallest_group"]):
        return values
    middle = median(values)
    deviation = float(settings["scale_constant"]) * median(abs(value - middle) for value in values)
    reach = float(settings["cut_off"]) * deviation
    low = middle - reach if settings["screened_side"] in ("lower", "both") else float("-inf")
    high = middle + reach if settings["screened_side"] in ("upper", "both") else float("inf")
    return [value for value in values if low <= value <= high]


def main():
    parser = configparser.ConfigParser(inline_comment_prefixes="#")
    parser.read("screen.ini", encoding="utf-8")
    channels = defaultdict(list)
    with open("orders.csv", encoding="utf-8", newline="") as source:
        for order in csv.DictReader(source):
            if order["state"] != "cancelled":
                channels[order["channel"]].append(float(order["value"]))
    summary = {}
    for channel, values in sorted(channels.items()):
        kept = screened(values, parser["basket screen"])
        summary[channel] = {"kept": len(kept), "mean": mean(kept), "total": sum(kept)}
    with open("summary.json", "w", encoding="utf-8") as target:
        json.dump(summary, target, indent=1)
    print(f"summary.json: {sum(one['kept'] for one in summary.values())} orders kept")


if __name__ == "__main__":
    main()
