"""Parts that only the reproduction of the paper needs: its rules, training, table and figures."""
