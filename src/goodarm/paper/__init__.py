"""Everything that only the replication of the one paper needs: its rules, its training, its table and figures."""
