"""Sources of logs: files, dataframes, databases. Each computes the sums itself and returns one row per arm."""
