"""Which prompts pass at least 7 of 10 test cases? The program under test is a small translator, without a model.

Put a call of your language model in the place of `translate`, and your own test of its answer in that of `evaluate`.

    python examples/live_prompts.py [sqlite:///prompts.db]
"""

from __future__ import annotations

import sys

from goodarm import Campaign

WORDS = {"the": "le", "cat": "chat", "dog": "chien", "eats": "mange", "sees": "voit", "a": "un", "big": "grand"}
SUBJECTS, VERBS = ("the cat", "the dog", "a cat", "a dog", "the big dog", "a big cat"), ("eats", "sees")
CASES = {f"{one} {verb} {other}": None for one in SUBJECTS for verb in VERBS for other in SUBJECTS if one != other}
PROMPTS = {
    "bare": "Translate word by word.",
    "no adjectives": "Translate word by word. Leave adjectives out.",
    "no articles": "Translate word by word. Leave articles out.",
    "grammar": "Translate word by word, then put adjectives after their noun if they are short.",
    "all": "Translate word by word and check the result.",
}


def translate(prompt: str, text: str) -> str:
    """The program under test: it follows the prompt to the letter."""
    words = text.split()
    if prompt == "no adjectives":
        words = [word for word in words if word != "big"]
    if prompt == "no articles":
        words = [word for word in words if word not in ("the", "a")]
    if prompt == "bare":
        words = [word for j, word in enumerate(words) if j == 0 or word != "big"]
    return " ".join(WORDS[word] for word in words)


def evaluate(prompt: str, text: str) -> float:
    """1 if the translation is right."""
    return float(translate(prompt, text) == " ".join(WORDS[word] for word in text.split()))


def main(store: str) -> None:
    with Campaign.create(store, "prompts", PROMPTS, threshold=0.7, cases=list(CASES)) as campaign:
        for row in campaign.run(lambda ticket: evaluate(ticket.arm, ticket.case), workers=4, progress=False).arms:
            print(f"{row.verdict:>4}  {row.arm:<14} passed {row.mean:.0%} of {row.pulls}")
        print(campaign)


if __name__ == "__main__":
    main(*(sys.argv[1:2] or ["memory:"]))
