"""``python -m dslint``."""

from dslint.cli import main

if __name__ == "__main__":
    main()
