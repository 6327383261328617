"""Reads and writes the rows of interop/cases.json with the official Python client.

Arguments: `read` or `write`, and the table. What the client does otherwise than the case says stands in
the case under `python`: `plain` is what it reads as a plain value, `plain_writes` what such a value is
stored as, or why it is refused.
"""

import json
import pathlib
import struct
import sys
from datetime import datetime
from uuid import UUID

from azure.data.tables import EdmType, EntityProperty, UpdateMode

from suite import FULL, IS_AZURITE, MINIMAL, equal, new_service

CASES = pathlib.Path(__file__).parent.parent / "interop" / "cases.json"


def whole(value):
    """A value of the file, which states long ones by what they repeat."""
    if isinstance(value, dict):
        return value["repeat"] * value["times"]
    return value


def key_of(index, case):
    partition_key = whole(case.get("partition_key", "interop"))
    return partition_key, whole(case.get("row_key", f"{index:03}"))


def exact(case):
    """The value with its type, so that nothing is left for the client to guess."""
    value = whole(case["value"])
    if case["type"] == "Double":
        value = struct.unpack(">d", bytes.fromhex(value))[0]
    elif case["type"] == "Binary":
        value = bytes.fromhex(value)
    return EntityProperty(value, EdmType(f"Edm.{case['type']}"))


def plain(case):
    """The value as a Python program has it."""
    value = exact(case).value
    if case["type"] == "Int64":
        return int(value)
    if case["type"] == "Guid":
        return UUID(value)
    if case["type"] == "DateTime":
        return datetime.fromisoformat(value[:26] + "+00:00")
    return value


def told(value):
    """A value that was read, as the file writes it: its type and its text."""
    if isinstance(value, EntityProperty):
        return value.edm_type.value.removeprefix("Edm."), str(value.value)
    if isinstance(value, float):
        return "Double", "NaN" if value != value else struct.pack(">d", value).hex()
    if isinstance(value, datetime):
        return "DateTime", value.strftime("%Y-%m-%dT%H:%M:%S.%f0Z")
    names = {bool: "Boolean", int: "Int32", str: "String", bytes: "Binary", UUID: "Guid"}
    of_type = {bytes: bytes.hex, UUID: str}.get(type(value), lambda same: same)
    return names[type(value)], of_type(value)


def check_read(case, entity):
    value = entity[case.get("property", "Value")]
    expected = whole(case["value"])
    if case.get("text") == "nan":
        expected = "NaN"
    if case["type"] == "DateTime":
        # The text of the service is beside the time, which has microseconds.
        equal(padded(value.tables_service_value), expected)
        expected = case.get("python", {}).get("plain", expected)
    equal(told(value), (case["type"], expected))


def padded(text):
    """A time with all seven digits, of which zeros at the end are left out on the wire."""
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    return f"{seconds}.{fraction:0<7}Z"


def read(table, cases):
    pages = {}
    for entity in table.list_entities():
        pages[entity["PartitionKey"], entity["RowKey"]] = entity
    equal(len(pages), len(cases))
    for index, case in cases:
        key = key_of(index, case)
        yield case, lambda: [
            check_read(case, entity)
            for entity in (
                pages[key],
                table.get_entity(*key, headers=MINIMAL),
                table.get_entity(*key, headers=FULL),
            )
        ]


def write(table, cases):
    for index, case in cases:
        partition_key, row_key = key_of(index, case)
        entity = {"PartitionKey": partition_key, "RowKey": row_key}
        yield case, lambda: write_one(table, case, entity)


def write_one(table, case, entity):
    name = case.get("property", "Value")
    table.create_entity({**entity, name: exact(case)})
    refused = case.get("python", {}).get("refuses_plain")
    try:
        table.upsert_entity({**entity, "Plain": plain(case)}, mode=UpdateMode.MERGE)
    except TypeError as error:
        equal((str(error), True), (refused, True))
    else:
        equal(refused, None)


def main(action, name):
    cases = enumerate(json.loads(CASES.read_text(encoding="utf-8")))
    cases = [(index, case) for index, case in cases if not (IS_AZURITE and "azurite" in case)]
    table = new_service().get_table_client(name)
    failed = 0
    for case, check in {"read": read, "write": write}[action](table, cases):
        try:
            check()
        except Exception as error:  # the other cases go on
            failed += 1
            print(f"{case['name']}: {type(error).__name__}: {str(error)[:400]}")
    print(f"python client: {action} {len(cases) - failed} of {len(cases)} cases")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
