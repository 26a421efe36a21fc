"""Which prompts pass at least 7 times in 10? The model and the judge of its answers are a deterministic stub.

Put a call of your language model, and your own test of its answer, in the place of `stub_model_passes`.

    python examples/live_prompts.py [sqlite:///prompts.db]
"""

from __future__ import annotations

import hashlib
import sys

from goodarm import Campaign

PROMPTS = {
    "bare": "Translate: {text}",
    "role": "You are a translator. Translate: {text}",
    "steps": "Think about the meaning first. Then translate: {text}",
    "example": "Here is a translation that we like: {example}. Translate: {text}",
    "all": "You are a translator. {example} Think first. Then translate: {text}",
}
STUB_PASS_RATES = {"bare": 0.4, "role": 0.55, "steps": 0.85, "example": 0.9, "all": 0.95}


def stub_model_passes(prompt: str, question: int) -> bool:
    """A STUB in place of asking a language model and testing its answer. The same question gets the same answer."""
    digest = hashlib.blake2b(f"{prompt}/{question}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64 < STUB_PASS_RATES[prompt]


def main(store: str) -> None:
    asked = dict.fromkeys(PROMPTS, 0)
    with Campaign.create(store, "prompts", PROMPTS, threshold=0.7, metadata={"model": "stub"}) as campaign:
        (ticket,) = campaign.ask()
        while ticket is not None:
            asked[ticket.arm] += 1
            ticket = campaign.step(ticket, float(stub_model_passes(ticket.arm, asked[ticket.arm])))
        for row in campaign.arms():
            print(f"{row.verdict:>4}  {row.arm:<8} passed {row.mean:.0%} of {row.pulls}")
        print(campaign)


if __name__ == "__main__":
    main(*(sys.argv[1:2] or ["memory:"]))
