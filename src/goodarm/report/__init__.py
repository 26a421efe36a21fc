"""Reports: finished runs → summary → table, figure, JSON, files."""
