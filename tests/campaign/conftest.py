"""Every store behind the same tests, and a clock that tests turn by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hand_clock import HandClock
from servers import PostgresqlServer, postgresql

POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.slow)
STORES = ("memory", "sqlite", POSTGRESQL)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresqlServer]:
    with postgresql() as running:
        yield running


@pytest.fixture(scope="session")
def new_database(server: PostgresqlServer) -> Callable[[], str]:
    numbers = count(1)
    return lambda: server.new_database(f"test_{next(numbers)}")


@pytest.fixture(params=STORES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store of each kind."""
    if request.param == "memory":
        return f"memory:{tmp_path}"
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.db'}"
    address: str = request.getfixturevalue("new_database")()
    return address


@pytest.fixture(params=["sqlite", POSTGRESQL])
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store that outlives the process."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.db'}"
    address: str = request.getfixturevalue("new_database")()
    return address
