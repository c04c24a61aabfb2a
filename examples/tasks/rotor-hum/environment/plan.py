"""Write plan.json from search.ini, and try it on recording.csv."""

import configparser
import json

from search import Search

TEXT = ("window",)


def main():
    parser = configparser.ConfigParser(inline_comment_prefixes="#")
    parser.read("search.ini", encoding="utf-8")
    plan = {
        name: value if name in TEXT else float(value) for name, value in parser["search"].items()
    }
    with open("recording.csv", encoding="utf-8") as source:
        samples = [float(line) for line in source if line.strip()]
    search = Search(plan, most=1_000)
    print(f"frequency {search.find(samples)}, {search.evaluations} evaluations")
    with open("plan.json", "w", encoding="utf-8") as target:
        json.dump(plan, target, indent=1)


if __name__ == "__main__":
    main()
