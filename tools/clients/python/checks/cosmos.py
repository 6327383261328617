"""Checks of the features that only Azure Cosmos DB has. The client recognizes it by the host localhost and a port other than 10002."""

from azure.core import MatchConditions
from azure.core.exceptions import ResourceModifiedError, ResourceNotFoundError
from azure.data.tables import TableTransactionError, UpdateMode

from suite import Heard, check, entity, equal, holds, refused, row_keys, table_name


@check
def the_client_recognizes_cosmos_db(table):
    holds(table._cosmos_endpoint, "the client treats the endpoint as Azure Storage")


@check
def a_merge_is_a_post(table):
    table.create_entity(entity(A=1))
    sent = []
    table.upsert_entity(entity(B=2), raw_request_hook=lambda request: sent.append(request.http_request))
    equal((sent[0].method, sent[0].headers["X-HTTP-Method"]), ("POST", "MERGE"))
    found = table.get_entity("p", "r")
    equal((found["A"], found["B"]), (1, 2))
    table.update_entity(entity(C=3), mode=UpdateMode.REPLACE)
    equal(sorted(table.get_entity("p", "r")), ["C", "PartitionKey", "RowKey"])


@check
def an_old_etag_is_refused(table):
    etag = table.create_entity(entity())["etag"]
    table.upsert_entity(entity(A=1))
    condition = {"etag": etag, "match_condition": MatchConditions.IfNotModified}
    for write in (table.update_entity, table.delete_entity):
        with refused(412, "UpdateConditionNotSatisfied", kind=ResourceModifiedError):
            write(entity(), **condition)


@check
def a_failed_operation_has_its_index(table):
    table.create_entity(entity())
    with refused(409, "EntityAlreadyExists", kind=TableTransactionError) as refusal:
        table.submit_transaction([("create", entity(row_key="a")), ("create", entity())])
    equal(refusal.error.index, 1)
    equal(row_keys(table.list_entities()), ["r"])


@check
def an_entity_may_appear_again_in_a_transaction(table):
    table.submit_transaction([("create", entity()), ("upsert", entity(A=1)), ("upsert", entity(B=2))])
    found = table.get_entity("p", "r")
    equal((found["A"], found["B"]), (1, 2))


@check
def pages_have_each_entity_once(table):
    for key in "cabd":
        table.create_entity(entity(row_key=key))
    pages = [row_keys(page) for page in table.list_entities(results_per_page=3).by_page()]
    equal([len(page) for page in pages], [3, 1])
    equal(sorted(pages[0] + pages[1]), ["a", "b", "c", "d"])


@check
def a_table_may_have_any_name(service):
    name = table_name().upper() + " a-b"
    for other in (name, name.lower()):
        service.create_table(other).create_entity(entity())
    try:
        tables = [table.name for table in service.list_tables()]
        holds(name in tables and name.lower() in tables, tables)
    finally:
        for other in (name, name.lower()):
            service.delete_table(other)
    with refused(404, "ResourceNotFound", kind=ResourceNotFoundError):
        service.get_table_client(name).get_entity("p", "r")


@check
def a_response_has_few_headers(table):
    heard = Heard()
    table.create_entity(entity(), raw_response_hook=heard)
    names = {"content-type", "etag", "location", "x-ms-request-id", "date"}
    found = {name.lower() for name in heard.headers}
    holds(names <= found, found)
    holds(not found & {"x-ms-version", "cache-control", "x-content-type-options"}, found)
