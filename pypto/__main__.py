"""``python -m pypto`` is the `pypto` command."""

from pypto.cli import main

if __name__ == "__main__":
    main()
