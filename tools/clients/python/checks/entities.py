"""One entity: insert, get, upsert, update, delete."""

from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError
from azure.data.tables import UpdateMode

from suite import Heard, check, entity, equal, holds, refused


def properties(found):
    return {name: value for name, value in found.items() if name not in ("PartitionKey", "RowKey")}


@check
def an_inserted_entity_comes_back(table):
    table.create_entity(entity("p", "r", Name="Sam", Age=42, Active=True))
    equal(dict(table.get_entity("p", "r")), entity("p", "r", Name="Sam", Age=42, Active=True))


@check
def an_insert_answers_with_the_etag_that_a_read_has(table):
    inserted = table.create_entity(entity())
    read = table.get_entity("p", "r")
    holds(inserted["etag"].startswith("W/\"datetime'"), inserted["etag"])
    equal(read.metadata["etag"], inserted["etag"])


@check
def a_key_is_inserted_once(table):
    table.create_entity(entity(A=1))
    with refused(
        409, "EntityAlreadyExists", "The specified entity already exists", ResourceExistsError
    ):
        table.create_entity(entity(A=2))
    equal(table.get_entity("p", "r")["A"], 1)


@check
def an_insert_returns_the_entity_where_that_is_preferred(table):
    heard = Heard()
    answer = table.create_entity(
        entity(A=1), headers={"Prefer": "return-content"}, raw_response_hook=heard
    )
    equal((heard.status, answer["preference_applied"]), (201, "return-content"))
    equal(answer["content"]["A"], 1)


@check(azurite="sends no Location")
def an_insert_returns_nothing_where_that_is_preferred(table):
    heard = Heard()
    answer = table.create_entity(
        entity(A=1), headers={"Prefer": "return-no-content"}, raw_response_hook=heard
    )
    equal((heard.status, answer["preference_applied"]), (204, "return-no-content"))
    equal(answer["content"], None)
    holds(
        heard.headers["Location"].endswith("(PartitionKey='p',RowKey='r')"),
        heard.headers["Location"],
    )
    holds("DataServiceId" in heard.headers, "DataServiceId")


@check(azurite="says that a preference was applied")
def an_insert_without_a_preference_answers_201(table):
    heard = Heard()
    table.create_entity(entity(A=1), raw_response_hook=heard)
    equal(heard.status, 201)
    holds("Preference-Applied" not in heard.headers, "no preference was applied")


@check
def select_takes_the_columns_that_are_named(table):
    table.create_entity(entity(A=1, B=2, C=3))
    equal(dict(table.get_entity("p", "r", select=["A", "C"])), {"A": 1, "C": 3})


@check
def select_as_text_takes_keys_as_well(table):
    table.create_entity(entity(A=1, B=2))
    equal(dict(table.get_entity("p", "r", select="PartitionKey,RowKey,A")), entity(A=1))


@check(azurite="leaves it out")
def a_selected_column_that_is_missing_is_null(table):
    # Recorded: test_get_entity_with_select and the queries of the encryption tests.
    table.create_entity(entity(A=1))
    equal(dict(table.get_entity("p", "r", select="A,Missing")), {"A": 1, "Missing": None})


@check
def the_etag_comes_with_a_selection(table):
    inserted = table.create_entity(entity(A=1))
    equal(table.get_entity("p", "r", select="A").metadata["etag"], inserted["etag"])


@check(azurite="looks for a property of that name")
def select_of_a_star_takes_all(table):
    table.create_entity(entity(A=1, B=2))
    equal(dict(table.get_entity("p", "r", select="*")), entity(A=1, B=2))


@check
def an_upsert_inserts_what_is_missing(table):
    table.upsert_entity(entity("p", "merged", A=1), mode=UpdateMode.MERGE)
    table.upsert_entity(entity("p", "replaced", A=2), mode=UpdateMode.REPLACE)
    equal(table.get_entity("p", "merged")["A"], 1)
    equal(table.get_entity("p", "replaced")["A"], 2)


@check
def an_upsert_by_merge_keeps_what_it_does_not_name(table):
    table.create_entity(entity(A=1, B=1))
    table.upsert_entity(entity(B=2, C=2), mode=UpdateMode.MERGE)
    equal(properties(table.get_entity("p", "r")), {"A": 1, "B": 2, "C": 2})


@check
def an_upsert_by_replace_drops_what_it_does_not_name(table):
    table.create_entity(entity(A=1, B=1))
    table.upsert_entity(entity(B=2, C=2), mode=UpdateMode.REPLACE)
    equal(properties(table.get_entity("p", "r")), {"B": 2, "C": 2})


@check
def an_update_by_merge_keeps_what_it_does_not_name(table):
    table.create_entity(entity(A=1, B=1))
    table.update_entity(entity(B=2), mode=UpdateMode.MERGE)
    equal(properties(table.get_entity("p", "r")), {"A": 1, "B": 2})


@check
def an_update_by_replace_drops_what_it_does_not_name(table):
    table.create_entity(entity(A=1, B=1))
    table.update_entity(entity(B=2), mode=UpdateMode.REPLACE)
    equal(properties(table.get_entity("p", "r")), {"B": 2})


@check
def an_update_may_change_the_type_of_a_property(table):
    table.create_entity(entity(A=1))
    table.update_entity(entity(A="text"), mode=UpdateMode.MERGE)
    equal(table.get_entity("p", "r")["A"], "text")


@check
def an_update_by_merge_of_what_is_missing_is_refused(table):
    with refused(
        404, "ResourceNotFound", "The specified resource does not exist", ResourceNotFoundError
    ):
        table.update_entity(entity(A=1), mode=UpdateMode.MERGE)


@check
def an_update_by_replace_of_what_is_missing_is_refused(table):
    with refused(404, "ResourceNotFound", kind=ResourceNotFoundError):
        table.update_entity(entity(A=1), mode=UpdateMode.REPLACE)


@check
def a_deleted_entity_is_gone(table):
    table.create_entity(entity())
    table.delete_entity("p", "r")
    with refused(404, "ResourceNotFound", kind=ResourceNotFoundError):
        table.get_entity("p", "r")


@check
def an_entity_that_is_missing_can_be_deleted(table):
    table.delete_entity("p", "missing")


@check
def an_entity_is_deleted_by_what_was_read(table):
    table.create_entity(entity())
    table.delete_entity(table.get_entity("p", "r"))
    equal(list(table.list_entities()), [])


@check
def nulls_are_not_stored(table):
    table.create_entity(entity(A=None, B=1))
    equal(properties(table.get_entity("p", "r")), {"B": 1})


@check
def a_null_in_a_merge_leaves_the_property_as_it_was(table):
    table.create_entity(entity(A=1, B=1))
    table.update_entity(entity(A=None, B=2), mode=UpdateMode.MERGE)
    equal(properties(table.get_entity("p", "r")), {"A": 1, "B": 2})


@check
def a_null_in_a_replace_removes_the_property(table):
    table.create_entity(entity(A=1, B=1))
    table.update_entity(entity(A=None, B=2), mode=UpdateMode.REPLACE)
    equal(properties(table.get_entity("p", "r")), {"B": 2})


@check
def names_of_properties_have_case(table):
    table.create_entity(entity(name=1, Name=2, NAME=3))
    equal(properties(table.get_entity("p", "r")), {"name": 1, "Name": 2, "NAME": 3})


@check
def names_of_properties_may_have_letters_of_any_script(table):
    table.create_entity(entity(**{"_größe": 1, "名前": 2, "Ñandú9": 3}))
    equal(properties(table.get_entity("p", "r")), {"_größe": 1, "名前": 2, "Ñandú9": 3})


@check(azurite="tells a version of its own")
def the_answer_to_a_write_has_a_date_and_the_version(table):
    answer = table.upsert_entity(entity())
    equal(answer["version"], "2019-02-02")
    holds(answer["date"] is not None, "a date")
