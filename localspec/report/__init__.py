"""Results as documents: JSON with a schema, later Markdown and HTML, always as strings.

Knows what was measured and said. Does not print.
"""
