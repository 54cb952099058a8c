"""The command line: `python -m gristmill <subcommand>`. It imports nothing before it hears Ctrl-C."""

import sys
from collections.abc import Sequence

STOPPED = 130
"""Exit code of a command that Ctrl-C has stopped, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one subcommand.

    Args:
        arguments: the words behind the name of the program; None: those of this process.

    Returns:
        Its exit code: see gristmill/command_line.py.
    """
    try:
        from gristmill.command_line import run  # noqa: PLC0415 - Ctrl-C may come during the imports

        return run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        pass
    except Exception as error:
        from gristmill.errors import is_failure  # noqa: PLC0415

        if is_failure(error):
            raise
    sys.stderr.write("stopped\n")
    return STOPPED


if __name__ == "__main__":
    sys.exit(main())
