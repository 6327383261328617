"""Refusals: their status, code, text and form."""

from azure.core.exceptions import ResourceNotFoundError

from suite import Heard, check, check_each, entity, equal, holds, raised, refused, table_name

OPERATIONS = {
    "an insert": lambda table: table.create_entity(entity()),
    "a read": lambda table: table.get_entity("p", "r"),
    "a query": lambda table: list(table.list_entities()),
    "an update": lambda table: table.update_entity(entity()),
    "an upsert": lambda table: table.upsert_entity(entity()),
}


@check_each(OPERATIONS)
def an_operation_on_a_missing_table_says_so(operation, service):
    table = service.get_table_client(table_name())
    with refused(404, "TableNotFound", "The table specified does not exist", ResourceNotFoundError):
        operation(table)


@check
def a_missing_entity_is_not_a_missing_table(table):
    with refused(
        404, "ResourceNotFound", "The specified resource does not exist", ResourceNotFoundError
    ):
        table.get_entity("p", "r")


@check
def a_refusal_tells_the_id_of_the_request_and_the_time(table):
    heard = Heard()
    with refused(404, "ResourceNotFound") as refusal:
        table.get_entity("p", "r", raw_response_hook=heard)
    holds(
        f"RequestId:{heard.headers['x-ms-request-id']}\nTime:" in refusal.message, refusal.message
    )


@check
def an_entity_without_a_partition_key_is_refused(table):
    with raised(ValueError, "PartitionKey must be present"):
        table.create_entity({"RowKey": "r", "A": 1})


@check
def an_entity_without_a_row_key_is_refused(table):
    with raised(ValueError, "RowKey must be present"):
        table.create_entity({"PartitionKey": "p", "A": 1})


@check(azurite="answers 500")
def a_property_of_a_type_that_does_not_exist_is_refused(table):
    with refused(400, "InvalidInput"):
        table.create_entity(entity(A="5", **{"B": "5", "B@odata.type": "Edm.Decimal"}))


@check
def the_status_of_a_success_is_that_of_its_operation(table):
    heard = Heard()
    statuses = []
    for write in (table.upsert_entity, table.update_entity):
        write(entity(), raw_response_hook=heard)
        statuses.append(heard.status)
    table.get_entity("p", "r", raw_response_hook=heard)
    statuses.append(heard.status)
    table.delete_entity("p", "r", raw_response_hook=heard)
    statuses.append(heard.status)
    equal(statuses, [204, 204, 200, 204])
