"""Hardware descriptions: one file of numbers per chip, each with its source."""
