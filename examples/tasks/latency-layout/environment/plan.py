"""Write layout.json: the upper bounds of a histogram and how often it is flushed."""

import configparser
import json


def main():
    parser = configparser.ConfigParser(inline_comment_prefixes="#")
    parser.read("layout.ini", encoding="utf-8")
    settings = parser["layout"]
    growth, smallest = float(settings["growth_factor"]), float(settings["smallest_bucket"])
    if growth <= 1 or smallest <= 0:
        raise SystemExit("layout.ini: a layout grows, and its first bound is above zero")
    limit = int(settings["bucket_limit"])
    layout = {
        "bounds": [smallest * growth**number for number in range(limit - 1)],
        "flush_every": int(settings["flush_interval"]),
    }
    with open("layout.json", "w", encoding="utf-8") as target:
        json.dump(layout, target, indent=1)
    print(f"layout.json: {len(layout['bounds']) + 1} buckets")


if __name__ == "__main__":
    main()
