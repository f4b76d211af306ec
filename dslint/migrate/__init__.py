"""An older config brought to a later release of its framework."""
