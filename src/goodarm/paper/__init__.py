"""Everything that only the reproduction of the one paper needs: its rules, its training, its table and figures."""
