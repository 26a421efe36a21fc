"""Prometheus metrics: requests summed over all workers, and campaigns computed from the fold."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from starlette.types import Scope

FIGURES = {
    "arms": "arms of the campaign",
    "good": "arms called good",
    "bad": "arms called bad",
    "open": "undecided arms",
    "asked": "tickets handed out",
    "told": "rewards told",
    "pending": "tickets that await their reward",
    "number": "entries of the journal",
}
NOW = {
    "waiting_operations": "operations waiting for the writer threads",
    "long_computations": "long computations running or waiting",
    "streams": "open live streams",
}
"""Gauges of current work, summed over the workers."""
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


def several_workers() -> bool:
    """Whether the metrics of several processes are summed."""
    return "PROMETHEUS_MULTIPROC_DIR" in os.environ


class Metrics:
    """The metrics of one worker, and their common output."""

    def __init__(self) -> None:
        self._own = CollectorRegistry()
        self._requests = Counter(
            "goodarm_requests", "requests by route and status", ("method", "route", "status"), registry=self._own
        )
        self._seconds = Histogram(
            "goodarm_request_seconds", "time to answer", ("method", "route"), buckets=BUCKETS, registry=self._own
        )

        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram | None]] = {}
        """Cache of each route's metrics."""
        self._store_errors = Counter(
            "goodarm_store_errors", "requests that failed because of the store", registry=self._own
        )
        self._deliveries = Counter(
            "goodarm_deliveries", "attempts to deliver a webhook", ("result",), registry=self._own
        )
        self._now = {
            name: Gauge(f"goodarm_{name}", words, registry=self._own, multiprocess_mode="livesum")
            for name, words in NOW.items()
        }

    def note_store_error(self) -> None:
        """Count an answer with a status of 500 or above."""
        self._store_errors.inc()

    def note_delivery(self, *, delivered: bool) -> None:
        """Count an attempt to deliver a webhook."""
        self._deliveries.labels("delivered" if delivered else "failed").inc()

    def note_now(self, **figures: int) -> None:
        """Set this worker's gauges of current work."""
        for name, value in figures.items():
            self._now[name].set(value)

    def observe(self, scope: Scope, status: int, seconds: float) -> None:
        """Count one request by its route. A label per campaign would grow without limit."""
        route = getattr(scope.get("route"), "path", None) or ("static" if status < 400 else "unknown")
        method = scope["method"] if scope["method"] in KNOWN_METHODS else "other"
        known = self._known.get((method, route, status))
        if known is None:
            seconds_of = None if route.endswith("/events") else self._seconds.labels(method, route)
            known = self._known[method, route, status] = self._requests.labels(method, route, str(status)), seconds_of
        known[0].inc()
        if known[1] is not None:
            known[1].observe(seconds)

    def text(self, campaigns: Iterable[Mapping[str, Any]]) -> bytes:
        """All metrics in Prometheus' text format."""
        shown = self._own
        if several_workers():
            shown = CollectorRegistry()
            MultiProcessCollector(shown)  # type: ignore[no-untyped-call]  # prometheus-client leaves it untyped
        return generate_latest(shown) + generate_latest(_Fold(list(campaigns)).registry)

    @staticmethod
    def stop() -> None:
        """Remove the gauges of a worker that ends; its counters stay."""
        if several_workers():
            mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]  # the same


KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class _Fold:
    """Gauges of every campaign, from its summary."""

    def __init__(self, campaigns: list[Mapping[str, Any]]) -> None:
        self._campaigns = campaigns
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def collect(self) -> Iterable[Metric]:
        for figure, words in FIGURES.items():
            family = GaugeMetricFamily(f"goodarm_campaign_{figure}", words, labels=["campaign"])
            for campaign in self._campaigns:
                family.add_metric([campaign["name"]], campaign[figure])
            yield family
