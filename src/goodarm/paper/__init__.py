"""Everything that only the reproduction of the paper needs: its rules, its training, its table and figures."""
