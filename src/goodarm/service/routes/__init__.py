"""Routes, one file per topic. A route parses, calls and answers; it computes nothing."""
