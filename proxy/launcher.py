"""What the installed `edgetape` command runs; the wheel's only top-level module, there named edgetape.

The wheel folds our folders into its own, so that no `store` or `proxy` in site-packages hides somebody
else's. Only a process started by this command looks inside the fold.
"""

import sys
from pathlib import Path


def main() -> None:
    """Put the fold first on this process's import path, then run the command line."""
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        from proxy.pace import optimise

        optimise(sys.argv[1:])
        from proxy.cli import main as command_line

        command_line()
    except KeyboardInterrupt:  # Ctrl-C while the modules were loading; later ones are answered by the verbs
        sys.exit(130)
