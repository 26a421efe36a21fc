"""Which of these candidates pass at least 80% of the test cases?"""

import re

from goodarm import Campaign

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def numbers(text):
    return [float(found.replace(",", "")) for found in NUMBER.findall(text)]


def after_total(text):
    return numbers(text.lower().rpartition("total")[2])[0]


CANDIDATES = {
    "first number": lambda text: numbers(text)[0],
    "last number": lambda text: numbers(text)[-1],
    "largest number": lambda text: max(numbers(text)),
    "after total": after_total,
    "after total, or largest": lambda text: after_total(text) if "total" in text.lower() else max(numbers(text)),
}


def receipt(number):
    """A receipt and the right answer."""
    price, tax = 20 + 13 * number % 1500, 1 + number % 7
    total = price + tax
    shown = f"{total:,.2f}" if number % 2 else f"{total:.2f}"
    lines = [f"Item {price:.2f}", f"Tax {tax:.2f}", f"Total {shown}" if number % 10 else f"Sum {shown}"]
    if number % 3 == 0:
        lines.append(f"Cash {total + 50:.2f}")
    return "\n".join(lines), float(total)


CASES = {f"receipt {number}": receipt(number) for number in range(240)}


def evaluate(ticket):
    """Run one candidate on one case. Replace this with a call of your model and a test of its answer."""
    text, expected = CASES[ticket.case]
    try:
        return CANDIDATES[ticket.arm](text) == expected
    except IndexError:  # no number found: a wrong answer
        return False


if __name__ == "__main__":
    with Campaign.create(
        "sqlite:///prompts.db", "prompts", list(CANDIDATES), threshold="80%", cases=list(CASES), exist_ok=True
    ) as campaign:
        print(campaign.run(evaluate, workers=4))
        print(campaign)
        print(f"{campaign.tally().told:,} of {len(CANDIDATES) * len(CASES):,} evaluations")
