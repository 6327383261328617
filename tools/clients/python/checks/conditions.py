"""Conditions on ETags."""

from azure.core import MatchConditions
from azure.core.exceptions import ResourceModifiedError
from azure.data.tables import UpdateMode

from suite import check, check_each, entity, equal, holds, refused

MODES = {"merge": UpdateMode.MERGE, "replace": UpdateMode.REPLACE}
NOT_SATISFIED = "The update condition specified in the request was not satisfied"


@check_each(MODES)
def an_update_with_the_present_etag_is_done(mode, table):
    inserted = table.create_entity(entity(A=1))
    table.update_entity(
        entity(A=2), mode=mode, etag=inserted["etag"], match_condition=MatchConditions.IfNotModified
    )
    equal(table.get_entity("p", "r")["A"], 2)


@check_each(MODES)
def an_update_with_an_old_etag_changes_nothing(mode, table):
    inserted = table.create_entity(entity(A=1))
    table.update_entity(entity(A=2))
    with refused(412, "UpdateConditionNotSatisfied", NOT_SATISFIED, ResourceModifiedError):
        table.update_entity(
            entity(A=3),
            mode=mode,
            etag=inserted["etag"],
            match_condition=MatchConditions.IfNotModified,
        )
    equal(table.get_entity("p", "r")["A"], 2)


@check
def an_update_takes_the_etag_of_what_was_read(table):
    table.create_entity(entity(A=1))
    read = table.get_entity("p", "r")
    read["A"] = 2
    table.update_entity(read, match_condition=MatchConditions.IfNotModified)
    with refused(412, "UpdateConditionNotSatisfied", kind=ResourceModifiedError):
        table.update_entity(read, match_condition=MatchConditions.IfNotModified)


@check
def a_delete_with_the_present_etag_is_done(table):
    inserted = table.create_entity(entity())
    table.delete_entity(
        "p", "r", etag=inserted["etag"], match_condition=MatchConditions.IfNotModified
    )
    equal(list(table.list_entities()), [])


@check
def a_delete_with_an_old_etag_deletes_nothing(table):
    inserted = table.create_entity(entity())
    table.upsert_entity(entity(A=1))
    with refused(412, "UpdateConditionNotSatisfied", NOT_SATISFIED, ResourceModifiedError):
        table.delete_entity(
            "p", "r", etag=inserted["etag"], match_condition=MatchConditions.IfNotModified
        )
    equal(len(list(table.list_entities())), 1)


@check
def every_write_has_an_etag_of_its_own(table):
    etags = [table.create_entity(entity())["etag"]]
    etags += [table.upsert_entity(entity(A=number))["etag"] for number in range(5)]
    equal(len(set(etags)), 6)
    equal(table.get_entity("p", "r").metadata["etag"], etags[-1])


@check
def an_entity_that_comes_back_has_another_etag(table):
    first = table.create_entity(entity())["etag"]
    table.delete_entity("p", "r")
    second = table.create_entity(entity())["etag"]
    holds(first != second, "the ETag of a deleted entity came back")


@check
def unconditionally_overwrites_whatever_is_there(table):
    table.create_entity(entity(A=1))
    table.upsert_entity(entity(A=2))
    table.update_entity(entity(A=3), match_condition=MatchConditions.Unconditionally)
    equal(table.get_entity("p", "r")["A"], 3)


@check
def an_upsert_has_no_condition(table):
    table.create_entity(entity(A=1))
    table.update_entity(entity(A=2))
    table.upsert_entity(entity(A=3))
    equal(table.get_entity("p", "r")["A"], 3)
