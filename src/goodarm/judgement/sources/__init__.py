"""Where logs are: files, dataframes, databases. Each sums up its rows where they are; one row per arm comes back."""
