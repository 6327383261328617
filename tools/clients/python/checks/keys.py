"""Keys that are hard to write in an address, through every operation."""

from azure.core.exceptions import ResourceNotFoundError
from azure.data.tables import UpdateMode

from suite import check, check_each, entity, equal, refused, row_keys

KEYS = {
    "quotes": "o'clock ''twice''",
    "a percent sign": "100%",
    "what looks encoded": "a%20b%25%2F",
    "a plus": "a+b",
    "spaces": " a b ",
    "an ampersand": "a&b=c",
    "commas and brackets": "a,RowKey='b'),(c)",
    "double quotes": '"a"',
    "signs": "!$*,-.:;<=>@[]^_`{|}~",
    "what is not ASCII": "Größe 名前 עברית",
    "what is beyond the first plane": "\U0001f600\U00010000",
    "nothing": "",
    "a dot": "..",
    "256 letters": "k" * 256,
}


@check_each(KEYS)
def a_key_is_inserted_read_updated_found_and_deleted(key, table):
    table.create_entity(entity(key, key, A=1))
    table.update_entity(entity(key, key, B=1))
    equal(dict(table.get_entity(key, key)), entity(key, key, A=1, B=1))
    table.upsert_entity(entity(key, key, C=1), mode=UpdateMode.REPLACE)
    found = table.query_entities(
        "PartitionKey eq @p and RowKey eq @r", parameters={"p": key, "r": key}
    )
    equal([dict(one) for one in found], [entity(key, key, C=1)])
    table.delete_entity(key, key)
    with refused(404, "ResourceNotFound", kind=ResourceNotFoundError):
        table.get_entity(key, key)


@check_each(
    KEYS,
    azurite={
        "commas and brackets": "splits the address at the first comma",
    },
)
def a_key_stands_in_a_transaction(key, table):
    table.submit_transaction([("create", entity(key, key, A=1)), ("upsert", entity(key, "other"))])
    table.submit_transaction([("update", entity(key, key, B=1)), ("delete", entity(key, "other"))])
    equal([dict(one) for one in table.list_entities()], [entity(key, key, A=1, B=1)])


@check_each(
    {"a slash": "a/b", "a backslash": "a\\b", "a number sign": "a#b", "a question mark": "a?b"},
    azurite="answers InvalidInput",
)
def a_key_may_not_have(key, table):
    # The codes: "Understanding the Table service data model" and the official error list.
    with refused(400, "OutOfRangeInput"):
        table.create_entity(entity(key, "r"))


@check_each(
    {"a line end": "a\nb", "a tab": "a\tb", "a control character above ASCII": "a\x85b"},
    azurite="answers InvalidInput",
)
def a_key_may_not_have_control_characters(key, table):
    with refused(400, "OutOfRangeInput"):
        table.create_entity(entity("p", key))


@check
def entities_are_in_the_order_of_utf16_code_units(table):
    keys = ["", "10", "9", "A", "Z", "a", "z", "é", "\U00010000", "\U0001f600", "\ue000", "\uffee"]
    for key in reversed(keys):
        table.create_entity(entity("p", key))
    equal(row_keys(table.list_entities()), keys)


@check
def partitions_come_before_rows_in_the_order(table):
    keys = [("a", "2"), ("a", "3"), ("b", "1"), ("b", "12"), ("b", "2")]
    for partition_key, row_key in reversed(keys):
        table.create_entity(entity(partition_key, row_key))
    equal([(one["PartitionKey"], one["RowKey"]) for one in table.list_entities()], keys)


@check
def keys_have_case(table):
    for key in ("a", "A"):
        table.create_entity(entity(key, key))
    equal(row_keys(table.query_entities("PartitionKey eq 'A'")), ["A"])
