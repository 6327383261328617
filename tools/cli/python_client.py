"""Exports, imports and counts a table with the official Python client, in the JSON lines of azure-table.

Usage: python_client.py import FILE TABLE | export TABLE FILE | count TABLE
"""
import base64
import json
import os
import sys
from datetime import datetime
from itertools import groupby, islice
from uuid import UUID

from azure.data.tables import EdmType, EntityProperty, TableServiceClient

SUFFIX = "@odata.type"
BATCH = 100


def to_entity(line):
    row = json.loads(line)
    entity = {}
    for name, value in row.items():
        if name.endswith(SUFFIX):
            continue
        edm_type = row.get(name + SUFFIX)
        if edm_type == "Edm.Binary":
            value = base64.b64decode(value)
        elif edm_type == "Edm.Guid":
            value = UUID(value)
        elif edm_type == "Edm.Double":
            value = float(value)
        elif edm_type is not None:
            # Int64, and DateTime as text: the client's datetime drops the seventh digit.
            value = EntityProperty(int(value) if edm_type == "Edm.Int64" else value, EdmType(edm_type))
        entity[name] = value
    return entity


def to_line(entity):
    row = {}
    for name, value in entity.items():
        edm_type = None
        if isinstance(value, EntityProperty):
            edm_type, value = EdmType.INT64, str(value.value)
        elif isinstance(value, bytes):
            edm_type, value = EdmType.BINARY, base64.b64encode(value).decode()
        elif isinstance(value, UUID):
            edm_type, value = EdmType.GUID, str(value)
        elif isinstance(value, datetime):
            whole, _, fraction = value.tables_service_value.removesuffix("Z").partition(".")
            edm_type, value = EdmType.DATETIME, f"{whole}.{fraction:0<7}Z"
        elif isinstance(value, float):
            names = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
            edm_type, value = EdmType.DOUBLE, "NaN" if value != value else names.get(value, value)
        if edm_type:
            row[name + SUFFIX] = edm_type.value
        row[name] = value
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def import_rows(service, path, table):
    client = service.create_table_if_not_exists(table)
    with open(path, encoding="utf-8", newline="\n") as file:
        for _, rows in groupby(map(to_entity, file), key=lambda row: row["PartitionKey"]):
            while batch := [("upsert", row, {"mode": "replace"}) for row in islice(rows, BATCH)]:
                client.submit_transaction(batch)


def export_rows(service, table, path):
    with open(path, "w", encoding="utf-8", newline="") as file:
        for entity in service.get_table_client(table).list_entities():
            file.write(to_line(entity) + "\n")


def count_rows(service, table):
    print(sum(1 for _ in service.get_table_client(table).list_entities(select=["PartitionKey"])))


def main():
    commands = {"import": import_rows, "export": export_rows, "count": count_rows}
    service = TableServiceClient.from_connection_string(os.environ["AZURE_STORAGE_CONNECTION_STRING"])
    commands[sys.argv[1]](service, *sys.argv[2:])


main()
