"""The engine: compiles a pairing of rules into one loop, and runs many of them."""
