"""Shared access signatures that the client makes itself."""

import contextlib
from datetime import datetime, timedelta, timezone

from azure.core.credentials import AzureSasCredential
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceNotFoundError,
)
from azure.data.tables import (
    AccountSasPermissions,
    ResourceTypes,
    TableAccessPolicy,
    TableClient,
    TableSasPermissions,
    TableServiceClient,
    generate_account_sas,
    generate_table_sas,
)

from suite import IS_COSMOS, check, check_each, entity, equal, holds, raised, refused, row_keys, table_name

ALL_TYPES = ResourceTypes(service=True, container=True, object=True)
PERMISSION = "Forbidden" if IS_COSMOS else "AuthorizationPermissionMismatch"
RESOURCE_TYPE = "AuthorizationResourceTypeMismatch"


def hours(number):
    return datetime.now(timezone.utc) + timedelta(hours=number)


def table_with(table, **options):
    """The table as one who has only a signature for it sees it."""
    options.setdefault("expiry", hours(1))
    token = generate_table_sas(table.credential, table.table_name, **options)
    return by_token(table, token)


def by_token(table, token):
    credential = AzureSasCredential(token)
    return TableClient(table.url, table_name=table.table_name, credential=credential, retry_total=0)


def service_with(service, permission, resource_types=ALL_TYPES, **options):
    options.setdefault("expiry", hours(1))
    token = generate_account_sas(service.credential, resource_types, permission, **options)
    return TableServiceClient(service.url, credential=AzureSasCredential(token), retry_total=0)


@contextlib.contextmanager
def forbidden():
    """403: which of the codes for it is sent, no source tells."""
    try:
        yield
    except HttpResponseError as error:
        equal(error.status_code, 403)
    else:
        raise AssertionError("no refusal instead of 403")


OPERATIONS = {
    "read": lambda table: table.get_entity("p", "r"),
    "query": lambda table: list(table.list_entities()),
    "insert": lambda table: table.create_entity(entity("p", "new")),
    "upsert": lambda table: table.upsert_entity(entity("p", "upserted")),
    "update": lambda table: table.update_entity(entity("p", "r", A=2)),
    "delete": lambda table: table.delete_entity("p", "r"),
}
# "Create a service SAS" and "Create an account SAS": an upsert needs both to add and to update.
NEEDS = {"read": "r", "query": "r", "insert": "a", "upsert": "au", "update": "u", "delete": "d"}


@check_each(OPERATIONS)
def a_signature_for_a_table_allows_what_it_permits(operation, table):
    table.create_entity(entity("p", "r", A=1))
    name = next(name for name, known in OPERATIONS.items() if known is operation)
    operation(table_with(table, permission=NEEDS[name]))


@check_each(OPERATIONS)
def a_signature_for_a_table_allows_nothing_else(operation, table):
    table.create_entity(entity("p", "r", A=1))
    name = next(name for name, known in OPERATIONS.items() if known is operation)
    others = "".join(letter for letter in "raud" if letter not in NEEDS[name])
    with refused(403, PERMISSION):
        operation(table_with(table, permission=others))
    equal([dict(one) for one in table.list_entities()], [entity("p", "r", A=1)])


@check
def an_upsert_needs_the_permission_to_update(table):
    with refused(403, PERMISSION):
        table_with(table, permission="a").upsert_entity(entity())


@check
def permissions_may_be_an_object(table):
    permission = TableSasPermissions(read=True, add=True)
    client = table_with(table, permission=permission)
    client.create_entity(entity())
    equal(row_keys(client.list_entities()), ["r"])


@check(azurite="answers AuthorizationFailure")
def a_signature_that_has_expired_is_refused(table):
    with refused(
        403, "AuthenticationFailed", "Server failed to authenticate", ClientAuthenticationError
    ):
        list(table_with(table, permission="r", expiry=hours(-1)).list_entities())


@check(azurite="answers AuthorizationFailure")
def a_signature_that_is_not_valid_yet_is_refused(table):
    with refused(403, "AuthenticationFailed", kind=ClientAuthenticationError):
        list(table_with(table, permission="r", start=hours(1), expiry=hours(2)).list_entities())


@check
def a_signature_holds_from_its_start(table):
    client = table_with(table, permission="r", start=hours(-1), expiry=hours(1))
    equal(list(client.list_entities()), [])


@check(azurite="answers AuthorizationFailure")
def a_signature_that_was_changed_is_refused(table):
    token = generate_table_sas(table.credential, table.table_name, permission="r", expiry=hours(1))
    with refused(403, "AuthenticationFailed", kind=ClientAuthenticationError):
        list(by_token(table, token.replace("sp=r", "sp=raud")).list_entities())


@check
def a_signature_for_one_table_opens_no_other(service, table):
    other = service.create_table(table_name())
    try:
        token = generate_table_sas(
            table.credential, table.table_name, permission="raud", expiry=hours(1)
        )
        with forbidden():
            list(by_token(other, token).list_entities())
        with forbidden():
            by_token(other, token).create_entity(entity())
    finally:
        other.delete_table()


@check(azurite="opens them")
def a_signature_for_a_table_opens_neither_its_policies_nor_the_table_itself(table):
    client = table_with(table, permission="raud")
    with forbidden():
        client.get_table_access_policy()
    with forbidden():
        client.delete_table()
    equal(list(table.list_entities()), [])


@check
def a_signature_for_https_is_refused_over_http(table):
    # The client writes its own SASProtocol.HTTPS as that name, and not as its value.
    client = table_with(table, permission="r", protocol="https")
    if table.url.startswith("https"):
        return equal(list(client.list_entities()), [])
    with refused(403, "AuthorizationProtocolMismatch"):
        list(client.list_entities())


@check
def a_signature_for_both_protocols_is_taken(table):
    client = table_with(table, permission="r", protocol="https,http")
    equal(list(client.list_entities()), [])


def fill(table):
    for partition_key in "abcd":
        for row_key in "12":
            table.create_entity(entity(partition_key, row_key))


def keys(table):
    return [one["PartitionKey"] + one["RowKey"] for one in table.list_entities()]


RANGES = {
    "partitions": ({"start_pk": "b", "end_pk": "c"}, ["b1", "b2", "c1", "c2"]),
    "from a partition on": ({"start_pk": "c"}, ["c1", "c2", "d1", "d2"]),
    "up to a partition": ({"end_pk": "b"}, ["a1", "a2", "b1", "b2"]),
    "from a row to a row": (
        {"start_pk": "b", "start_rk": "2", "end_pk": "d", "end_rk": "1"},
        ["b2", "c1", "c2", "d1"],
    ),
    "one row": ({"start_pk": "b", "start_rk": "2", "end_pk": "b", "end_rk": "2"}, ["b2"]),
}


@check_each(RANGES, azurite="looks at no range")
def a_query_sees_the_range_of_its_signature_only(case, table):
    options, expected = case
    fill(table)
    client = table_with(table, permission="r", **options)
    equal(keys(client), expected)
    found = [page for page in client.list_entities(results_per_page=1).by_page()]
    equal(len([one for page in found for one in page]), len(expected))


@check(azurite="looks at no range")
def a_write_outside_the_range_of_its_signature_is_refused(table):
    fill(table)
    client = table_with(table, permission="raud", start_pk="b", end_pk="c")
    client.create_entity(entity("b", "new"))
    client.update_entity(entity("c", "1", A=1))
    client.delete_entity("c", "2")
    for write in (
        lambda: client.create_entity(entity("a", "new")),
        lambda: client.upsert_entity(entity("d", "new")),
        lambda: client.update_entity(entity("a", "1", A=1)),
        lambda: client.delete_entity("d", "1"),
    ):
        with forbidden():
            write()
    equal(keys(table), ["a1", "a2", "b1", "b2", "bnew", "c1", "d1", "d2"])


@check(azurite="looks at no range")
def a_read_outside_the_range_of_its_signature_finds_nothing(table):
    # Whether that is 403 or 404 is not settled by any source.
    fill(table)
    client = table_with(table, permission="r", start_pk="b", end_pk="c")
    equal(client.get_entity("b", "1")["RowKey"], "1")
    try:
        client.get_entity("a", "1")
    except HttpResponseError as error:
        holds(error.status_code in (403, 404), error)
    else:
        raise AssertionError("it was read")


@check(azurite="refuses the batch")
def a_transaction_is_signed_by_a_table_signature(table):
    client = table_with(table, permission="raud")
    client.submit_transaction([("create", entity(row_key=key)) for key in "ab"])
    client.submit_transaction(
        [("upsert", entity(row_key="a", A=1)), ("delete", entity(row_key="b"))]
    )
    equal([dict(one) for one in table.list_entities()], [entity(row_key="a", A=1)])


@check
def a_transaction_needs_the_permission_of_each_operation(table):
    table.create_entity(entity(row_key="there"))
    client = table_with(table, permission="a")
    with forbidden():
        client.submit_transaction([("create", entity()), ("delete", entity(row_key="there"))])
    equal(row_keys(table.list_entities()), ["there"])


@check
def a_stored_policy_gives_what_the_signature_leaves_out(table):
    policy = TableAccessPolicy(start=hours(-1), expiry=hours(1), permission="ra")
    table.set_table_access_policy({"mine": policy})
    client = by_token(
        table, generate_table_sas(table.credential, table.table_name, policy_id="mine")
    )
    client.create_entity(entity())
    equal(row_keys(client.list_entities()), ["r"])
    with refused(403, PERMISSION):
        client.update_entity(entity(A=1))


@check(azurite="refuses a policy that lacks a part")
def a_signature_ends_with_its_policy(table):
    table.set_table_access_policy({"mine": TableAccessPolicy(expiry=hours(1), permission="r")})
    client = by_token(
        table, generate_table_sas(table.credential, table.table_name, policy_id="mine")
    )
    equal(list(client.list_entities()), [])
    table.set_table_access_policy({})
    with refused(403, "AuthenticationFailed", kind=ClientAuthenticationError):
        list(client.list_entities())


@check(azurite="answers AuthorizationFailure")
def a_policy_that_has_expired_is_refused(table):
    policy = TableAccessPolicy(start=hours(-2), expiry=hours(-1), permission="r")
    table.set_table_access_policy({"mine": policy})
    client = by_token(
        table, generate_table_sas(table.credential, table.table_name, policy_id="mine")
    )
    with refused(403, "AuthenticationFailed", kind=ClientAuthenticationError):
        list(client.list_entities())


@check(azurite="refuses a policy that lacks a part")
def a_policy_without_an_expiry_takes_that_of_the_signature(table):
    table.set_table_access_policy({"mine": TableAccessPolicy(permission="r")})
    client = table_with(table, policy_id="mine", expiry=hours(1))
    equal(list(client.list_entities()), [])


@check
def an_account_signature_allows_everything_that_it_permits(service, table):
    client = service_with(service, AccountSasPermissions.from_string("rwdlacu"))
    name = table_name()
    other = client.create_table(name)
    other.create_entity(entity(A=1))
    other.update_entity(entity(A=2))
    other.upsert_entity(entity(B=1))
    other.submit_transaction([("create", entity(row_key="new"))])
    equal(row_keys(other.list_entities()), ["new", "r"])
    equal([item.name for item in client.query_tables(f"TableName eq '{name}'")], [name])
    other.delete_entity("p", "r")
    client.delete_table(name)


ACCOUNT_OPERATIONS = {
    "listing tables": ("l", "container", lambda client, _: list(client.list_tables())),
    "creating a table": ("c", "container", lambda client, name: client.create_table(name + "x")),
    "deleting a table": ("d", "container", lambda client, name: client.delete_table(name)),
    "a query": (
        "r",
        "object",
        lambda client, name: list(client.get_table_client(name).list_entities()),
    ),
    "an insert": (
        "a",
        "object",
        lambda client, name: client.get_table_client(name).create_entity(entity()),
    ),
    "service properties": ("r", "service", lambda client, _: client.get_service_properties()),
}


@check_each(ACCOUNT_OPERATIONS)
def an_account_signature_needs_the_permission_for(case, service, table):
    letter, _, operation = case
    others = "".join(one for one in "rwdlacu" if one != letter)
    # "Create an account SAS": to write is enough to create a table.
    others = others.replace("w", "") if letter == "c" else others
    with refused(403, PERMISSION):
        operation(service_with(service, others), table.table_name)
    equal(list(table.list_entities()), [])


@check_each(
    ACCOUNT_OPERATIONS,
    azurite={
        "a query": "allows a query to whoever may see containers",
    },
)
def an_account_signature_needs_the_resource_type_for(case, service, table):
    _, resource_type, operation = case
    others = {name: name != resource_type for name in ("service", "container", "object")}
    with refused(403, RESOURCE_TYPE):
        operation(service_with(service, "rwdlacu", ResourceTypes(**others)), table.table_name)
    equal(list(table.list_entities()), [])


@check(azurite="answers AuthorizationFailure")
def an_account_signature_that_has_expired_is_refused(service):
    with refused(403, "AuthenticationFailed", kind=ClientAuthenticationError):
        list(service_with(service, "rl", expiry=hours(-1)).list_tables())


@check
def a_missing_table_is_missing_for_a_signature_too(service):
    client = service_with(service, "r")
    with raised(ResourceNotFoundError):
        list(client.get_table_client(table_name()).list_entities())
