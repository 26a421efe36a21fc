"""A server's log: one line per event with time and level, as text or as JSON."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

from goodarm.errors import InvalidValue

LEVELS = ("debug", "info", "warning", "error", "critical")
FORMATS = ("text", "json")
FIELDS = ("address", "token", "campaign", "kind")
"""Extra fields of an event: `log.warning("…", extra={"address": …})`."""


class Lines(logging.Formatter):
    """Text: 2026-11-18T04:10:00.123Z WARNING goodarm.service: failed login (address=10.0.0.7).

    Messages may contain text from callers. Line breaks are escaped, so a caller can't forge a line.
    """

    converter = staticmethod(time.gmtime)

    def format(self, record: logging.LogRecord) -> str:
        shown = self.about(record)
        more = " (" + ", ".join(f"{name}={value}" for name, value in shown.items()) + ")" if shown else ""
        line = f"{self.time(record)} {record.levelname} {record.name}: {record.getMessage()}{more}"
        line = line.replace("\r", "\\r").replace("\n", "\\n")
        return line if record.exc_info is None else f"{line}\n{self.formatException(record.exc_info)}"

    def time(self, record: logging.LogRecord) -> str:
        return f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{int(record.msecs):03}Z"

    def about(self, record: logging.LogRecord) -> dict[str, Any]:
        return {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}


class JsonLines(Lines):
    """One JSON object per line: time, level, logger, message, extra fields, and the traceback of an error."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **self.about(record),
        }
        if record.exc_info is not None:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configuration(level: str, format: str) -> dict[str, Any]:
    """The `logging.config.dictConfig` of every process of a server."""
    if level not in LEVELS:
        raise InvalidValue(f"log_level must be one of {', '.join(LEVELS)}; got {level!r}.")
    if format not in FORMATS:
        raise InvalidValue(f"log_format must be one of {', '.join(FORMATS)}; got {format!r}.")
    lines = {"text": "Lines", "json": "JsonLines"}[format]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": f"goodarm.service.logs.{lines}"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "loggers": {
            name: {"handlers": ["stderr"], "level": level.upper(), "propagate": False}
            for name in ("goodarm", "uvicorn")
        },
    }
