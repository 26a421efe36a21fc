"""Reads of large campaigns in other threads, from copies.

The desk's thread changes its campaigns, so no other thread may read them, and 100,000 rows take seconds. A copy has a
separate fold of the same journal. It reads new entries before each view, so an answer is never older than the request.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from goodarm.service.beside import Beside
from goodarm.service.hosted import Hosted

T = TypeVar("T")
KEPT = 4
"""Maximum number of copies. One of a campaign with 100,000 arms occupies about 100 MB."""
MOST_BEHIND = 10_000
"""Maximum number of new entries that a copy reads. With more, it is opened again, which is quicker."""


@dataclass
class _Copy:
    """A copy, and the lock of the thread that uses it."""

    campaign: Hosted | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class Copies:
    """The copies of one worker.

    open : opens a campaign; it is called in the threads of the readers
    """

    def __init__(self, open: Callable[[str], Hosted]) -> None:
        self._open = open
        self._copies: OrderedDict[str, _Copy] = OrderedDict()
        self.beside = Beside()

    async def read(self, campaign: Hosted, view: Callable[[Hosted], T]) -> T:
        """The result of a view of a copy; refused if too many reads are waiting.

        campaign : the campaign at the desk, whose estimate is shared
        """
        name, number = campaign.name, campaign.read_to
        copy = self._copies.setdefault(name, _Copy())
        self._copies.move_to_end(name)
        while len(self._copies) > KEPT:
            self._copies.popitem(last=False)

        def look() -> T:
            with copy.lock:
                if copy.campaign is None or number - copy.campaign.read_to > MOST_BEHIND:
                    copy.campaign = self._open(name)
                campaign.share_estimate(copy.campaign)
                with copy.campaign.still():
                    return view(copy.campaign)

        return await self.beside.run(lambda stop: look())
