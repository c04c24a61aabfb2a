"""Write ledger.txt from payments.csv."""

import csv
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

PAGE = 18


def line(date, reference, amount):
    """One line of the ledger."""
    sign = " -"[amount < 0]
    return " ".join((date.ljust(10), reference[:16].ljust(16), f"{abs(amount):>16}{sign}EUR"))


def main():
    with Path("payments.csv").open(encoding="utf-8", newline="") as source:
        payments = list(csv.DictReader(source))
    total, lines = Decimal("0.00"), []
    for number, payment in enumerate(payments):
        if number % PAGE == 0:
            if number:
                lines += [line("", "carried forward", total), ""]
            lines.append(f"LEDGER PAGE {number // PAGE + 1}")
            if number:
                lines.append(line("", "brought forward", total))
        amount = Decimal(payment["amount"]).quantize(Decimal("0.01"), ROUND_HALF_UP)
        total += amount
        lines.append(line(payment["date"], payment["reference"], amount))
    lines.append(line("", "balance", total))
    Path("ledger.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
