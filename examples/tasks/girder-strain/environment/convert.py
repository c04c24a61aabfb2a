"""Write strain.json: strain and stress of every load step, by the numbers in convert.ini."""

import configparser
import csv
import json
from statistics import mean


def main():
    parser = configparser.ConfigParser(inline_comment_prefixes="#")
    parser.read("convert.ini", encoding="utf-8")
    number = {name: float(value) for name, value in parser["gauge"].items()}
    with open("readings.csv", encoding="utf-8", newline="") as source:
        readings = list(csv.DictReader(source))
    zero = mean(float(one["ratio"]) for one in readings[: int(number["zero_samples"])])
    steps = {}
    for one in readings:
        strain = 4000 * (float(one["ratio"]) - zero)
        strain /= number["gauge_factor"] * number["bridge_factor"]
        strain *= number["lead_correction"]
        warmer = float(one["temperature"]) - number["reference_temperature"]
        strain -= number["apparent_strain"] * warmer
        steps.setdefault(one["step"], []).append(strain)
    result = {}
    for step, strains in steps.items():
        strain = mean(strains)
        result[step] = {"microstrain": strain, "megapascal": strain * number["elastic_modulus"] / 1000}
    with open("strain.json", "w", encoding="utf-8") as target:
        json.dump(result, target, indent=1)
    print(f"strain.json: {len(result)} load steps")


if __name__ == "__main__":
    main()
