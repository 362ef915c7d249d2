"""`python -m tailcut.cli`."""

from tailcut.cli import main

if __name__ == "__main__":
    main()
