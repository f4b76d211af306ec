"""From one format to another through the Plan, with an account of every key."""
