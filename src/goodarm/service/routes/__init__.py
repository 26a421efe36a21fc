"""One file per topic; a route parses, calls and answers, and computes nothing."""
