"""`python -m proxy`: the command line of a checkout."""

import sys

from proxy.pace import optimise

if __name__ == "__main__":
    optimise(sys.argv[1:])

    from proxy.cli import main

    main()
