"""The command `azure-table-emulator`."""

import os
import subprocess
import sys

from azure_table_emulator import binary_path


def main() -> int:
    command = [binary_path(), *sys.argv[1:]]
    if os.name == "nt":
        return subprocess.call(command)
    # The program replaces Python, so signals and the exit code are its own.
    os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(main())
