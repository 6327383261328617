"""Filters: every operator on every type, and how they are put together."""

from datetime import datetime, timezone
from uuid import UUID

from azure.data.tables import EdmType, EntityProperty

from suite import IS_COSMOS, check, check_each, entity, equal, refused, row_keys

# For each type three values in order, and the middle one as a literal or a parameter.
TYPES = {
    "String": (["a", "it's", "z"], "'it''s'"),
    "String as a parameter": (["a", "it's", "z"], "it's"),
    "String beyond ASCII": (["a", "é", "\U0001f600"], "é"),
    "Boolean": ([False, True, True], "true"),
    "Int32": ([-5, 7, 2**31 - 1], "7"),
    "Int32 as a parameter": ([-5, 7, 2**31 - 1], 7),
    "Int64": ([EntityProperty(n, EdmType.INT64) for n in (-(2**63), 7, 2**63 - 1)], "7L"),
    "Int64 as a parameter": (
        [EntityProperty(n, EdmType.INT64) for n in (-(2**63), 2**53 + 1, 2**63 - 1)],
        2**53 + 1,
    ),
    "Double": ([-1e300, 5.0, 1e300], "5.0"),
    "Double with an exponent": ([-1e300, 5e-7, 1e300], "5e-7"),
    "Double as a parameter": ([-1e300, 2.5, 1e300], 2.5),
    "DateTime": (
        [EntityProperty(f"2024-02-29T12:34:56.{n}Z", EdmType.DATETIME) for n in (1, 1234567, 2)],
        "datetime'2024-02-29T12:34:56.1234567Z'",
    ),
    "DateTime as a parameter": (
        [datetime(year, 1, 1, tzinfo=timezone.utc) for year in (1601, 2024, 9999)],
        datetime(2024, 1, 1, tzinfo=timezone.utc),
    ),
    "Guid": ([UUID(int=1), UUID(int=2), UUID(int=3)], f"guid'{UUID(int=2)}'"),
    "Guid as a parameter": ([UUID(int=1), UUID(int=2), UUID(int=3)], UUID(int=2)),
    "Binary": ([b"\x00", b"\x0a\xff", b"\xff"], "X'0aff'"),
    "Binary by its long name": ([b"\x00", b"\x0a\xff", b"\xff"], "binary'0aff'"),
    "Binary as a parameter": ([b"\x00", b"\x0a\xff", b"\xff"], b"\x0a\xff"),
}


@check_each(
    TYPES,
    azurite={
        "Double with an exponent": "knows no exponent in a literal",
        "Binary": "compares Binary for equality only",
        "Binary by its long name": "compares Binary for equality only",
        "Binary as a parameter": "compares Binary for equality only",
    },
)
def every_operator_compares(case, table):
    values, literal = case
    for row_key, value in zip("123", values):
        table.create_entity(entity(row_key=row_key, V=value))
    # true has no third value: both others are the greater one.
    rows = {"eq": "2", "ne": "13", "gt": "3", "ge": "23", "lt": "1", "le": "12"}
    if literal == "true":
        rows = {"eq": "23", "ne": "1", "gt": "", "ge": "23", "lt": "1", "le": "123"}
    for operator, expected in rows.items():
        if isinstance(literal, str) and literal != values[1]:
            found = table.query_entities(f"V {operator} {literal}")
        else:
            found = table.query_entities(f"V {operator} @v", parameters={"v": literal})
        equal((operator, row_keys(found)), (operator, list(expected)))


def three(table):
    """Three rows: A is the number of the row, B its name, C stands in the first only."""
    for number, name in enumerate(["one", "two", "three"], 1):
        first = {"C": True} if number == 1 else {}
        table.create_entity(entity(row_key=str(number), A=number, B=name, **first))


FILTERS = {
    "and": ("A gt 1 and B eq 'three'", "3"),
    "or": ("A eq 1 or A eq 3", "13"),
    "and before or": ("A eq 1 or A eq 2 and B eq 'two'", "12"),
    "brackets": ("(A eq 1 or A eq 2) and B eq 'two'", "2"),
    "brackets in brackets": ("((A eq 1) or ((A eq 2) and (B eq 'two')))", "12"),
    "not before a bracket": ("not (A eq 2)", "13"),
    "not before a bracket of two": ("not (A eq 2 or B eq 'one')", "3"),
    "not of not": ("not (not (A eq 2))", "2"),
    "not and and": ("not (A eq 2) and A lt 3", "1"),
    "a range of row keys": ("PartitionKey eq 'p' and RowKey ge '2' and RowKey lt '3'", "2"),
    "another partition": ("PartitionKey eq 'q'", ""),
    "a row key alone": ("RowKey eq '2'", "2"),
    "a range over all": ("PartitionKey ge '' and RowKey ge ''", "123"),
    "a Boolean that only one has": ("C eq true", "1"),
    "ten comparisons": (" or ".join(f"A eq {n}" for n in range(2, 12)), "23"),
}


@check_each(FILTERS)
def comparisons_are_put_together(case, table):
    three(table)
    text, expected = case
    equal(row_keys(table.query_entities(text)), list(expected))


@check_each({"a literal first": ("2 le A", "23"), "a Boolean by itself": ("C", "1")})
def a_comparison_may_be_written_otherwise(case, table):
    three(table)
    text, expected = case
    equal(row_keys(table.query_entities(text)), list(expected))


@check_each(
    {
        "Int32 by Double": ("I eq 5.0", "I ge 1.2"),
        "String by Int32": ("S eq 5", "S gt 1"),
        "Int32 by String": ("I eq '5'", "I gt '1'"),
    },
    azurite="compares what differs in type",
)
def a_property_of_another_type_does_not_match(texts, table):
    # "Writing LINQ queries against the Table service": a type that differs finds nothing.
    table.create_entity(entity(I=5, L=EntityProperty(5, EdmType.INT64), D=5.0, S="5"))
    for text in texts:
        equal((text, row_keys(table.query_entities(text))), (text, []))


@check_each(
    {"Int64 by Int32": ("L eq 5", "L gt 1"), "Double by Int32": ("D eq 5", "D gt 1")},
    azurite={"Int64 by Int32": "compares an Int64 as text"},
)
def an_integer_is_compared_with_wider_numbers(texts, table):
    table.create_entity(entity(L=EntityProperty(5, EdmType.INT64), D=5.0))
    for text in texts:
        equal((text, row_keys(table.query_entities(text))), (text, [] if IS_COSMOS else ["r"]))


@check
def a_property_that_is_missing_equals_nothing(table):
    three(table)
    equal(row_keys(table.query_entities("Missing eq 'x' or Missing gt 5")), [])


@check
def a_time_stamp_can_be_compared(table):
    three(table)
    before = {"t": datetime(2000, 1, 1, tzinfo=timezone.utc)}
    equal(row_keys(table.query_entities("Timestamp gt @t", parameters=before)), list("123"))
    equal(row_keys(table.query_entities("Timestamp lt @t", parameters=before)), [])


@check
def a_parameter_with_a_quote_stays_one_value(table):
    table.create_entity(entity(A="x' or A ne 'y"))
    table.create_entity(entity(row_key="other", A="z"))
    found = table.query_entities("A eq @a", parameters={"a": "x' or A ne 'y"})
    equal(row_keys(found), ["r"])


@check
def a_selection_of_a_query_takes_what_is_named(table):
    three(table)
    found = list(table.query_entities("A ge 2", select=["B", "RowKey"]))
    equal(
        [dict(one) for one in found], [{"RowKey": "2", "B": "two"}, {"RowKey": "3", "B": "three"}]
    )


@check(azurite="leaves it out")
def a_column_that_only_some_have_is_null_in_a_selection(table):
    # Recorded: test_query_entities_with_select.
    three(table)
    equal(
        [dict(one) for one in table.list_entities(select="C")],
        [{"C": True}, {"C": None}, {"C": None}],
    )


@check_each(
    {
        "an unfinished comparison": "A eq",
        "an operator that is unknown": "A is 5",
        "text without an end": "A eq 'x",
        "a bracket without an end": "(A eq 5",
        "words in a row": "A eq 5 B eq 6",
        "a bad date": "A eq datetime'today'",
        "a bad guid": "A eq guid'1'",
    },
    azurite={
        "text without an end": "takes it",
        "a bad date": "takes it",
        "a bad guid": "takes it",
    },
)
def a_filter_that_cannot_be_read_is_refused(text, table):
    with refused(400, "InvalidInput"):
        list(table.query_entities(text))


@check(azurite="answers 400 InvalidInput")
def a_function_in_a_filter_is_not_implemented(table):
    with refused(501, "NotImplemented", "The requested operation is not implemented"):
        list(table.query_entities("startswith(A, 'x')"))
