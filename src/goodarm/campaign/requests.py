"""Idempotency keys chosen by the caller: repeating a request with its key returns the first answer.

The key and the answer are one journal entry, written in the same transaction as the operation.
"""

from __future__ import annotations

import json
from typing import Any

from goodarm.arguments import shown
from goodarm.campaign import journal
from goodarm.campaign.fold import Fold
from goodarm.campaign.journal import Event, as_payload, chained, digest
from goodarm.campaign.session import Session
from goodarm.campaign.stores import Store
from goodarm.campaign.terms import Terms
from goodarm.errors import InvalidValue, Refused

ASK = "ask"


def answered(session: Session, key: str | None, what: str, **asked: Any) -> dict[str, Any] | None:
    """The earlier answer to a request with the same key; None if the request is new, or has no key."""
    if key is None:
        return None
    found = session.ending(journal.REQUESTS, digest(check_key(key)))
    if found is None:
        return None
    content = found.content
    if content.get("for", ASK) != what or any(content[name] != value for name, value in asked.items()):
        raise _used(key)
    return content


def keep(session: Session, key: str | None, what: str, **content: Any) -> None:
    """Record how a request with a key was answered."""
    if key is not None:
        session.write(journal.REQUEST, ticket=journal.REQUESTS, content=request_content(key, what, **content))


def opening(terms: Terms, at: float, key: str | None, by: str = "") -> list[Event]:
    """The first entries of a journal: the terms, and the creating request with its key and caller."""
    events = [chained(b"", 1, journal.CREATED, at, payload=as_payload(terms.as_json()))]
    Fold(events[0])  # rules and model refuse bad terms before anything is written to the store
    if key is not None:
        payload = as_payload(request_content(key, "create"))
        events.append(chained(events[0].chain, 2, journal.REQUEST, at, ticket=journal.REQUESTS, payload=payload))
    if by:
        payload = as_payload({"note": "created", "by": by})
        events.append(chained(events[-1].chain, len(events) + 1, journal.NOTE, at, payload=payload))
    return events


def created_it(store: Store, campaign: int, key: str | None, terms: Terms) -> bool:
    """Whether this request repeats the one that created the campaign. The same key with other terms is refused."""
    found = None if key is None else request(store, campaign, key)
    if key is None or found is None:
        return False
    first = Event(*next(store.chunks(campaign, 0, 1))[0]).content
    if found.content.get("for") != "create" or _agreed(first) != _agreed(terms.as_json()):
        raise _used(key)
    return True


def refuse_other_terms(store: Store, campaign: int, name: str, terms: Terms) -> None:
    """Refuse if the campaign was created with other terms than these."""
    was = _agreed(Event(*next(store.chunks(campaign, 0, 1))[0]).content)
    now = _agreed(terms.as_json())
    differs = [field for field in now | was if now.get(field) != was.get(field)]
    if differs:
        field = differs[0]
        if differs == ["arms"] and _in_order(now["arms"]) == _in_order(was["arms"]):
            raise Refused(
                f"the store has a campaign {name!r} with the same arms in another order. Pass them in its order, "
                f"beginning with {was['arms'][0]['id']!r}, or open it as it is with Campaign.open."
            )
        raise Refused(
            f"the store has a campaign {name!r} with other terms: {field} was {shown(was.get(field))} and is "
            f"{shown(now.get(field))} now. Open it as it is with Campaign.open, or choose another name."
        )


def _in_order(arms: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(arms, key=lambda arm: str(arm["id"]))


def _agreed(content: dict[str, Any]) -> dict[str, Any]:
    """The caller's terms as JSON, without the version and the random key that goodarm adds."""
    plain: dict[str, Any] = json.loads(as_payload(content))
    return {name: value for name, value in plain.items() if name not in ("key", "version", "rules", "format")}


def _used(key: str) -> Refused:
    return Refused(f"the key {key!r} was used for another request already. Use a new key for each request.")


def request_content(key: str, what: str, **content: Any) -> dict[str, Any]:
    """The content of the journal entry of a request with a key."""
    return {"key": check_key(key), **({} if what == ASK else {"for": what}), **content}


def request(store: Store, campaign: int, key: str) -> Event | None:
    """The entry of a key, if it was used before."""
    return store.ending(campaign, journal.REQUESTS, digest(check_key(key)))


def check_key(key: Any) -> str:
    if not isinstance(key, str) or not key:
        raise InvalidValue(f"key must be a non-empty string; got {key!r}.")
    return key
