"""`python -m proxy`: the command line of a checkout."""

from proxy.cli import main

if __name__ == "__main__":
    main()
