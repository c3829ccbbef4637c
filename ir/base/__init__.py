"""What every layer shares: source locations, errors, settings."""
