"""Entity group transactions."""

from unittest import mock

from azure.core import MatchConditions
from azure.data.tables import (
    RequestTooLargeError,
    TableTransactionError,
    TransactionOperation,
    UpdateMode,
    _table_batch,
)

from suite import check, check_each, entity, equal, holds, raised, refused, row_keys


def failed(table, operations, status, code, index, message=""):
    """A transaction that fails with its index, and leaves the table as it was."""
    before = [dict(one) for one in table.list_entities()]
    with refused(status, code, message, TableTransactionError) as refusal:
        table.submit_transaction(operations)
    equal(refusal.error.index, index)
    equal([dict(one) for one in table.list_entities()], before)


@check
def every_kind_of_operation_in_one_transaction(table):
    table.submit_transaction([("create", entity(row_key=key, A=1)) for key in "bcdefg"])
    etag = table.get_entity("p", "g").metadata["etag"]
    answers = table.submit_transaction(
        [
            (TransactionOperation.CREATE, entity(row_key="a", A=2)),
            (TransactionOperation.DELETE, entity(row_key="b")),
            (TransactionOperation.UPDATE, entity(row_key="c", B=2)),
            (TransactionOperation.UPDATE, entity(row_key="d", B=2), {"mode": UpdateMode.REPLACE}),
            (TransactionOperation.UPSERT, entity(row_key="e", B=2)),
            (TransactionOperation.UPSERT, entity(row_key="f", B=2), {"mode": UpdateMode.REPLACE}),
            (
                TransactionOperation.UPDATE,
                entity(row_key="g", B=2),
                {"etag": etag, "match_condition": MatchConditions.IfNotModified},
            ),
            (TransactionOperation.UPSERT, entity(row_key="h", B=2)),
        ]
    )
    found = {one["RowKey"]: (one.get("A"), one.get("B")) for one in table.list_entities()}
    expected = {"a": (2, None), "c": (1, 2), "d": (None, 2), "e": (1, 2), "f": (None, 2)}
    equal(found, {**expected, "g": (1, 2), "h": (None, 2)})
    equal(len(answers), 8)
    written = [table.get_entity("p", key).metadata["etag"] for key in "acdefgh"]
    equal([answer.get("etag") for answer in answers[:1] + answers[2:]], written)


@check
def one_operation_is_a_transaction(table):
    (answer,) = table.submit_transaction([("create", entity())])
    equal(table.get_entity("p", "r").metadata["etag"], answer["etag"])


@check(azurite="answers 500")
def no_operation_is_no_transaction(table):
    equal(table.submit_transaction([]), [])


@check
def a_hundred_operations_are_one_transaction(table):
    answers = table.submit_transaction([("create", entity(row_key=f"{n:03}")) for n in range(100)])
    equal((len(answers), len(list(table.list_entities()))), (100, 100))


@check(azurite="answers with a part that no client can read")
def a_hundred_and_one_operations_are_refused(table):
    operations = [("create", entity(row_key=f"{n:03}")) for n in range(101)]
    with refused(400, "InvalidInput", "exceeds the maximum 100 changes", TableTransactionError):
        table.submit_transaction(operations)
    equal(list(table.list_entities()), [])


@check
def an_insert_of_what_exists_undoes_all(table):
    table.create_entity(entity(row_key="there"))
    operations = [("create", entity(row_key=key)) for key in ("a", "b", "there", "c")]
    failed(table, operations, 409, "EntityAlreadyExists", 2, "The specified entity already exists")


@check
def an_old_etag_undoes_all(table):
    etag = table.create_entity(entity(row_key="there"))["etag"]
    table.upsert_entity(entity(row_key="there", A=1))
    condition = {"etag": etag, "match_condition": MatchConditions.IfNotModified}
    operations = [("create", entity(row_key="a")), ("update", entity(row_key="there"), condition)]
    failed(table, operations, 412, "UpdateConditionNotSatisfied", 1, "The update condition")
    operations = [("delete", entity(row_key="there"), condition), ("create", entity(row_key="a"))]
    failed(table, operations, 412, "UpdateConditionNotSatisfied", 0)


@check_each(
    {
        "an update by merge": ("update", entity(row_key="missing")),
        "an update by replace": ("update", entity(row_key="missing"), {"mode": UpdateMode.REPLACE}),
        "a delete": ("delete", entity(row_key="missing")),
    }
)
def what_is_missing_undoes_all(operation, table):
    operations = [("create", entity(row_key="a")), operation]
    failed(table, operations, 404, "ResourceNotFound", 1, "The specified resource does not exist")


@check
def a_bad_property_undoes_all(table):
    operations = [("create", entity(row_key="a")), ("create", entity(row_key="b", A="x" * 32769))]
    failed(table, operations, 400, "PropertyValueTooLarge", 1)


@check(azurite="says an index")
def one_operation_that_fails_says_no_index(table):
    # Recorded: test_batch_update_if_match and its kin.
    table.create_entity(entity())
    with refused(409, "EntityAlreadyExists", kind=TableTransactionError) as refusal:
        table.submit_transaction([("create", entity())])
    holds(refusal.message.startswith("The specified entity"), refusal.message)


@check
def an_entity_appears_once_in_a_transaction(table):
    operations = [("upsert", entity(A=1)), ("upsert", entity(A=2)), ("create", entity(row_key="a"))]
    failed(table, operations, 400, "InvalidDuplicateRow", 1, "An entity can appear only once")


@check
def the_client_keeps_to_one_partition(table):
    with raised(ValueError, "must all be the same"):
        table.submit_transaction([("create", entity("p")), ("create", entity("q"))])


@check(azurite="commits it")
def the_service_keeps_to_one_partition(table):
    def no_check(*_):
        pass

    with mock.patch.object(_table_batch.TableBatchOperations, "_verify_partition_key", no_check):
        operations = [("create", entity("p")), ("create", entity("q"))]
        code = "CommandsInBatchActOnDifferentPartitions"
        failed(
            table,
            operations,
            400,
            code,
            1,
            "All commands in a batch must operate on same entity group",
        )


@check
def a_transaction_of_a_missing_table_is_refused(service):
    table = service.get_table_client("missing" + "x" * 20)
    with refused(404, "TableNotFound", "The table specified does not exist", TableTransactionError):
        table.submit_transaction([("create", entity(row_key="a")), ("create", entity(row_key="b"))])


@check
def more_than_4_mib_are_refused(table):
    text = "x" * 32768
    large = {f"P{number}": text for number in range(14)}
    operations = [("create", entity(row_key=str(number), **large)) for number in range(10)]
    with refused(413, "RequestBodyTooLarge", kind=RequestTooLargeError):
        table.submit_transaction(operations)
    equal(list(table.list_entities()), [])


@check
def almost_4_mib_are_taken(table):
    text = "x" * 32768
    large = {f"P{number}": text for number in range(12)}
    operations = [("create", entity(row_key=str(number), **large)) for number in range(10)]
    table.submit_transaction(operations)
    equal(len(list(table.list_entities(select="RowKey"))), 10)


@check
def a_transaction_that_failed_may_be_sent_again(table):
    table.create_entity(entity(row_key="there"))
    operations = [("create", entity(row_key="a")), ("create", entity(row_key="there"))]
    failed(table, operations, 409, "EntityAlreadyExists", 1)
    table.delete_entity("p", "there")
    table.submit_transaction(operations)
    equal(row_keys(table.list_entities()), ["a", "there"])
