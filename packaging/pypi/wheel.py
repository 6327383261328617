"""Adds the program to the wheel, and names the platforms that it runs on.

AZURE_TABLE_EMULATOR_BINARY is the path of the program, AZURE_TABLE_EMULATOR_WHEEL the platform tag of the wheel.
"""

import os
import pathlib

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Program(BuildHookInterface):
    def initialize(self, version, build_data):
        binary = pathlib.Path(os.environ["AZURE_TABLE_EMULATOR_BINARY"])
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['AZURE_TABLE_EMULATOR_WHEEL']}"
        files = build_data["force_include"]
        files[str(binary)] = f"azure_table_emulator/bin/{binary.name}"
        for licence in pathlib.Path(self.root, "../..").resolve().glob("LICENSE-*"):
            files[str(licence)] = f"azure_table_emulator/{licence.name}"
