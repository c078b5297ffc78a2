"""`python -m limelight` is the `limelight` command."""

from limelight.cli import main

if __name__ == "__main__":
    main()
