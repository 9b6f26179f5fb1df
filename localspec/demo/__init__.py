"""Two real answers from the demo pair, and what to type next."""
