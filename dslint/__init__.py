"""dslint checks training configs for conflicts, repairs them, and proves them by really training a few steps."""

__version__ = "0.1.0"
