#!/usr/bin/env python3
"""Write ledger pages: fixed-width lines, equal pages, a running sum carried forward."""

import argparse
import csv
import sys
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

MODES = {"half_up": ROUND_HALF_UP, "half_even": ROUND_HALF_EVEN}


def line(date, reference, amount, currency):
    """One line of 48 characters; the minus stands behind the number."""
    sign = "-" if amount < 0 else " "
    return f"{date:<10} {reference[:16]:<16} {abs(amount):>16}{sign}{currency:<3}".rstrip()


def pages(payments, options):
    """The text of all pages."""
    currency = payments[0]["currency"]
    step = Decimal("0.01")
    total = Decimal("0.00")
    out = []
    for start in range(0, len(payments), options.page_lines):
        out.append(f"LEDGER PAGE {start // options.page_lines + 1}")
        if start:
            out.append(line("", "brought forward", total, currency))
        for payment in payments[start : start + options.page_lines]:
            if payment["currency"] != currency:
                sys.exit(3)
            amount = Decimal(payment["amount"]).quantize(step, MODES[options.rounding])
            total += amount
            out.append(line(payment["date"], payment["reference"], amount, currency))
        last = start + options.page_lines >= len(payments)
        out.append(line("", "balance" if last else options.carry, total, currency))
        if not last:
            out.append("")
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("payments")
    parser.add_argument("ledger")
    parser.add_argument("--page-lines", type=int, default=24)
    parser.add_argument("--carry", default="c/f")
    parser.add_argument("--rounding", choices=sorted(MODES), default="half_up")
    options = parser.parse_args()
    with open(options.payments, encoding="utf-8", newline="") as source:
        payments = list(csv.DictReader(source))
    with open(options.ledger, "w", encoding="utf-8", newline="") as target:
        target.write(pages(payments, options))
    print(f"{options.ledger}: {len(payments)} payments")


if __name__ == "__main__":
    main()
