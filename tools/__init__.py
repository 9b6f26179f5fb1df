"""Tools that make files for localspec; none of them is needed to run it."""
