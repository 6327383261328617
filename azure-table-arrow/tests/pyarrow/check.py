"""Reads the Parquet file that the first argument names, compares it with the rows of pyarrow.rs, and writes the second one."""

import datetime
import math
import struct
import sys
import uuid

import pyarrow as pa
import pyarrow.parquet as pq

read, written = sys.argv[1:]
table = pq.read_table(read)

types = {field.name: field.type for field in table.schema}
expected = {
    "PartitionKey": pa.string(),
    "RowKey": pa.string(),
    "Text": pa.string(),
    "IsRead": pa.bool_(),
    "Rating": pa.int32(),
    "Views": pa.int64(),
    "Score": pa.float64(),
    "Posted": pa.timestamp("ns", tz="UTC"),
    "Id": pa.uuid(),
    "Data": pa.binary(),
    "rest": pa.json_(pa.string()),
}
assert types == expected, types
assert [table.schema.field(name).nullable for name in ("PartitionKey", "RowKey", "Text")] == [False, False, True]
assert table.schema.field("Views").metadata[b"azure.edm_type"] == b"Edm.Int64"
logical = {column.name: column.logical_type.type for column in pq.ParquetFile(read).schema}
assert (logical["Id"], logical["rest"]) == ("UUID", "JSON"), logical

# datetime has no nanoseconds.
first, second, third = table.drop_columns(["Posted"]).to_pylist()
assert first["Text"] == "line\n\U0001F600" and second["Text"] == ""
assert (first["IsRead"], first["Rating"], first["Views"]) == (True, -(2**31), 2**63 - 1)
assert struct.pack("<d", first["Score"]) == struct.pack("<d", -0.0) and math.isnan(second["Score"])
assert table["Posted"][0].value == 1239667200000000100, table["Posted"][0].value
assert first["Id"] == uuid.UUID("00112233-4455-6677-8899-aabbccddeeff"), first["Id"]
assert (first["Data"], second["Data"]) == (b"\x00\xff", b"")
assert first["rest"] is None and second["rest"] == '{"Mixed":{"String":"x"}}', second["rest"]
assert all(third[name] is None for name in expected if name not in ("PartitionKey", "RowKey", "Posted", "rest"))
assert table["Posted"].null_count == 2

noon = datetime.datetime(2009, 4, 14, 12, 0, 0, 1, tzinfo=datetime.timezone.utc)
rows = pa.table(
    {
        "PartitionKey": pa.array(["p"], pa.large_string()),
        "RowKey": pa.array(["1"], pa.string_view()),
        "Posted": pa.array([noon], pa.timestamp("us", tz="Europe/Berlin")),
        "Id": pa.array([uuid.UUID(int=1).bytes], pa.uuid()),
        "Data": pa.array([b"\x00"], pa.large_binary()),
        "Score": [math.inf],
        "Views": [2**53 + 1],
        "IsRead": [False],
    }
)
pq.write_table(rows, written)
pq.write_table(rows, written + ".zstd", compression="zstd")
print(f"pyarrow {pa.__version__}: read {table.num_rows} rows of {len(types)} columns, wrote {rows.num_rows}")
