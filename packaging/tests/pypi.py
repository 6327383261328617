"""Tests of the wheel, run by the Python that it is installed in."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest.mock
import urllib.error
import urllib.request

import azure_table_emulator
from azure.core.exceptions import HttpResponseError
from azure.data.tables import TableServiceClient


def service_of(emulator):
    return TableServiceClient.from_connection_string(emulator.connection_string)


def is_gone(url):
    try:
        urllib.request.urlopen(url)
    except urllib.error.HTTPError:
        return False
    except urllib.error.URLError:
        return True


class Wheel(unittest.TestCase):
    def test_the_official_client_uses_an_emulator_that_a_program_starts_and_stops(self):
        with azure_table_emulator.start() as emulator:
            orders = service_of(emulator).create_table("Orders")
            orders.create_entity({"PartitionKey": "2026", "RowKey": "1", "total": 5})
            self.assertEqual(orders.get_entity("2026", "1")["total"], 5)
            self.assertFalse(is_gone(emulator.url))
        self.assertTrue(is_gone(emulator.url))

    def test_a_program_fills_and_empties_the_tables_injects_faults_and_sets_the_clock(self):
        options = {"account": "mine", "key": "c2VjcmV0", "control_token": "secret"}
        with azure_table_emulator.start(**options) as emulator:
            row = {"PartitionKey": "2026", "RowKey": "1", "total": 5}
            emulator.seed({"Orders": [row]})
            emulator.seed(row, table="Others")
            emulator.clock(freeze="2030-01-02T03:04:05Z")
            orders = service_of(emulator).get_table_client("Orders")
            self.assertEqual(orders.get_entity("2026", "1")["total"], 5)
            orders.upsert_entity({"PartitionKey": "2026", "RowKey": "2"})
            self.assertEqual(orders.get_entity("2026", "2").metadata["timestamp"].year, 2030)
            emulator.fault({"fault": "error", "status": 400, "code": "Chosen", "times": 1})
            with self.assertRaisesRegex(HttpResponseError, "Chosen"):
                orders.get_entity("2026", "1")
            emulator.reset(table="Others")
            self.assertEqual(orders.get_entity("2026", "1")["total"], 5)
            emulator.reset(faults=True, requests=True)
            with self.assertRaisesRegex(HttpResponseError, "TableNotFound"):
                orders.get_entity("2026", "1")
            with self.assertRaisesRegex(ValueError, "refuses faults: .*none"):
                emulator.fault({"fault": "none"})

    @unittest.mock.patch.dict(os.environ, {"AZURE_TABLE_EMULATOR_ACCOUNT": "other", "AZURE_TABLE_EMULATOR_PORT": "x"})
    def test_options_decide_about_the_account_and_the_data_and_variables_of_the_emulator_do_not(self):
        with tempfile.TemporaryDirectory() as folder:
            options = {"account": "mine", "key": "c2VjcmV0", "data": pathlib.Path(folder)}
            with azure_table_emulator.start(**options) as emulator:
                self.assertTrue(emulator.url.endswith("/mine"))
                service_of(emulator).create_table("Orders")
            with azure_table_emulator.start(**options) as emulator:
                self.assertEqual([table.name for table in service_of(emulator).list_tables()], ["Orders"])

    def test_a_failed_start_has_the_message_of_the_emulator_or_states_the_time(self):
        with self.assertRaisesRegex(RuntimeError, "ended with code 2: .*unknown option --prot"):
            azure_table_emulator.start(args=["--prot"])
        with tempfile.TemporaryDirectory() as folder:
            # Reading a pipe that nobody writes to never ends.
            pipe = os.path.join(folder, "faults")
            os.mkfifo(pipe)
            with self.assertRaisesRegex(TimeoutError, "did not start in 0.1 s"):
                azure_table_emulator.start(args=["--faults", pipe], timeout=0.1)

    def test_an_emulator_that_nobody_stops_ends_with_python(self):
        code = "import azure_table_emulator; print(azure_table_emulator.start().url)"
        url = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=10).strip()
        deadline = time.monotonic() + 5
        while not is_gone(url):
            self.assertLess(time.monotonic(), deadline, "the emulator still runs")
            time.sleep(0.02)

    def test_the_commands_have_the_arguments_the_output_and_the_exit_code_of_the_program(self):
        program = [azure_table_emulator.binary_path()]
        version = subprocess.check_output([*program, "--version"], text=True)
        script = str(pathlib.Path(sys.executable).with_name("azure-table-emulator"))
        for command in [[script], [sys.executable, "-m", "azure_table_emulator"]]:
            self.assertEqual(subprocess.check_output([*command, "--version"], text=True), version)
            wrong = subprocess.run([*command, "--prot"], capture_output=True)
            self.assertEqual(wrong.returncode, 2)
            running = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
            self.assertTrue(re.match("azure-table-emulator listening on ", running.stdout.readline()))
            running.send_signal(signal.SIGTERM)
            self.assertEqual(running.wait(), 0)
            running.stdout.close()


if __name__ == "__main__":
    unittest.main()
