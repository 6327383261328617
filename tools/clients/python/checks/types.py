"""The eight Edm types and their extremes. Each value is written, read back and found by its type."""

import math
from datetime import datetime, timedelta, timezone
from uuid import UUID

from azure.data.tables import EdmType, EntityProperty, UpdateMode

from suite import FULL, check, check_each, entity, equal, holds, refused

INT64 = {
    "the smallest": -(2**63),
    "the largest": 2**63 - 1,
    "one beyond what a Double holds": 2**53 + 1,
    "zero": 0,
    "one that an Int32 would hold": 7,
}
INT32 = {"the smallest": -(2**31), "the largest": 2**31 - 1, "zero": 0}
DOUBLES = {
    "five, whole": 5.0,
    "the largest": 1.7976931348623157e308,
    "the smallest that is normal": 2.2250738585072014e-308,
    "the smallest": 5e-324,
    "one with all digits": 0.1 + 0.2,
    "one with a large exponent": -1.5e300,
    "infinity": math.inf,
    "infinity below": -math.inf,
    "the largest whole number without gaps": 9007199254740992.0,
}
DATE_TIMES = {
    "the first": "1601-01-01T00:00:00Z",
    "the first with a tick": "1601-01-01T00:00:00.0000001Z",
    "the last": "9999-12-31T23:59:59.9999999Z",
    "seven digits": "2024-02-29T12:34:56.1234567Z",
    "whole seconds": "2000-01-01T00:00:00Z",
}
STRINGS = {
    "empty": "",
    "blank": "   ",
    "quotes": "'it''s' \"said\"",
    "a backslash": "C:\\new\\table",
    "line ends and tabs": "a\r\nb\tc\n",
    "control characters": "\x01\x1f\x7f\x85",
    "a zero": "a\x00b",
    "what is not ASCII": "Größe, Ñandú, 名前, עברית",
    "what is beyond the first plane": "\U0001f600\U0001f9d1\u200d\U0001f680",
    "a line separator": "a\u2028b\u2029c\ufeff",
    "markup": "<a href='x'>&amp;</a>",
    "what looks like a date": "2024-02-29T12:34:56Z",
    "64 KiB": "x" * 32768,
    "64 KiB beyond the first plane": "\U0001f600" * 16384,
}
BINARIES = {
    "empty": b"",
    "a zero": b"\x00",
    "every byte": bytes(range(256)),
    "64 KiB": bytes(range(256)) * 256,
}
GUIDS = {
    "one": UUID("c9da6455-213d-42c9-9a79-3e9149a57833"),
    "zero": UUID(int=0),
    "the last": UUID(int=2**128 - 1),
}


def stored(table, value):
    """What comes back, and the type that the service says it has."""
    table.create_entity(entity(A=value))
    read = table.get_entity("p", "r", headers=FULL)
    equal(dict(table.get_entity("p", "r")), dict(read))
    return read["A"]


@check_each(INT64)
def an_int64_comes_back(number, table):
    equal(stored(table, EntityProperty(number, EdmType.INT64)), (number, EdmType.INT64))


@check_each(INT32)
def an_int32_comes_back(number, table):
    found = stored(table, number)
    equal((found, type(found)), (number, int))


@check_each(DOUBLES)
def a_double_comes_back(number, table):
    found = stored(table, number)
    equal((found, type(found)), (number, float))


@check
def a_double_that_is_no_number_comes_back(table):
    table.create_entity(entity(A=math.nan))
    holds(math.isnan(table.get_entity("p", "r")["A"]), "NaN")


@check
def minus_zero_is_a_double_that_equals_zero(table):
    # Whether the service keeps the sign is not settled by any source.
    table.create_entity(entity(A=-0.0))
    found = table.get_entity("p", "r")["A"]
    equal((found, type(found)), (0.0, float))


@check_each(
    DATE_TIMES,
)
def a_date_time_comes_back_to_the_tick(text, table):
    found = stored(table, EntityProperty(text, EdmType.DATETIME))
    equal(found.tables_service_value, text)


@check
def a_date_time_is_in_utc(table):
    zone = timezone(timedelta(hours=-7))
    table.create_entity(entity(A=datetime(2024, 2, 29, 20, 30, tzinfo=zone)))
    equal(table.get_entity("p", "r")["A"], datetime(2024, 3, 1, 3, 30, tzinfo=timezone.utc))


@check(azurite="takes any year")
def a_date_time_before_1601_is_refused(table):
    with refused(400, "OutOfRangeInput"):
        table.create_entity(entity(A=EntityProperty("0001-01-01T00:00:00Z", EdmType.DATETIME)))


@check_each(GUIDS)
def a_guid_comes_back(guid, table):
    equal(stored(table, guid), guid)


@check_each(BINARIES)
def binary_comes_back(binary, table):
    equal(stored(table, binary), binary)


@check_each(STRINGS)
def a_string_comes_back(text, table):
    equal(stored(table, text), text)


@check_each({"true": True, "false": False})
def a_boolean_comes_back(value, table):
    equal(stored(table, value), value)


ALL = {
    "Binary": b"\x01\x02",
    "Boolean": False,
    "DateTime": datetime(2024, 2, 29, 12, tzinfo=timezone.utc),
    "Double": 5.0,
    "Guid": UUID("c9da6455-213d-42c9-9a79-3e9149a57833"),
    "Int32": 5,
    "Int64": EntityProperty(5, EdmType.INT64),
    "String": "5",
}


@check
def all_types_stay_what_they_are_in_a_query(table):
    table.create_entity(entity(**ALL))
    (found,) = table.query_entities("RowKey eq 'r'")
    equal(dict(found), entity(**ALL))
    equal([type(found["Double"]), type(found["Int32"])], [float, int])


@check
def all_types_stay_what_they_are_in_a_merge_and_in_a_transaction(table):
    table.upsert_entity(entity(row_key="merged", **ALL), mode=UpdateMode.MERGE)
    table.submit_transaction([("create", entity(row_key="transacted", **ALL))])
    for row_key in ("merged", "transacted"):
        equal(dict(table.get_entity("p", row_key)), entity(row_key=row_key, **ALL))


@check
def types_that_are_told_are_those_that_are_stored(table):
    told = {
        "I": EntityProperty(5, EdmType.INT32),
        "S": EntityProperty("5", EdmType.STRING),
        "B": EntityProperty(True, EdmType.BOOLEAN),
        "D": EntityProperty(5, EdmType.DOUBLE),
    }
    table.create_entity(entity(**told))
    for condition in ("I eq 5", "S eq '5'", "B eq true", "D eq 5.0"):
        equal(len(list(table.query_entities(condition))), 1)


@check(azurite="takes any text")
def a_value_that_its_type_cannot_hold_is_refused(table):
    with refused(400, "InvalidInput"):
        table.create_entity(entity(A=EntityProperty("today", EdmType.DATETIME)))
    with refused(400, "InvalidInput"):
        table.create_entity(entity(A=EntityProperty("not a guid", EdmType.GUID)))
