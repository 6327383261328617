"""Stored access policies of a table (its ACL)."""

from datetime import datetime, timedelta, timezone

from azure.core.exceptions import ResourceNotFoundError
from azure.data.tables import TableAccessPolicy

from suite import check, equal, holds, raised, table_name

START = datetime(2024, 1, 1, 12, 30, 15, tzinfo=timezone.utc)
POLICY = TableAccessPolicy(start=START, expiry=START + timedelta(days=1), permission="raud")


def shown(policy):
    return policy and (policy.start, policy.expiry, policy.permission)


def policies(table):
    return {name: shown(policy) for name, policy in table.get_table_access_policy().items()}


@check
def a_new_table_has_no_policies(table):
    equal(table.get_table_access_policy(), {})


@check
def a_policy_comes_back(table):
    table.set_table_access_policy({"mine": POLICY})
    equal(policies(table), {"mine": shown(POLICY)})


@check(azurite="refuses a policy that lacks a part")
def times_of_a_policy_have_seven_digits(table):
    # Recorded: test_set_table_acl_with_signed_identifiers, where a date alone was sent.
    table.set_table_access_policy({"mine": TableAccessPolicy(expiry="2024-01-02", permission="r")})
    expiry = table.get_table_access_policy()["mine"].expiry
    equal(expiry.tables_service_value, "2024-01-02T00:00:00.0000000Z")


@check
def five_policies_come_back(table):
    table.set_table_access_policy({f"id{number}": POLICY for number in range(5)})
    equal(policies(table), {f"id{number}": shown(POLICY) for number in range(5)})


@check
def six_policies_are_refused_by_the_code_that_the_client_knows(table):
    with raised(ValueError, "does not support setting more than 5 access policies"):
        table.set_table_access_policy({f"id{number}": POLICY for number in range(6)})
    equal(table.get_table_access_policy(), {})


@check(azurite="refuses it")
def a_policy_may_be_without_any_part(table):
    table.set_table_access_policy({"empty": None, "bare": TableAccessPolicy()})
    found = policies(table)
    equal(set(found), {"empty", "bare"})
    holds(set(found.values()) <= {None, (None, None, None)}, found)


@check(azurite="refuses it")
def a_policy_may_have_a_permission_alone(table):
    table.set_table_access_policy({"mine": TableAccessPolicy(permission="r")})
    equal(policies(table), {"mine": (None, None, "r")})


@check
def an_id_may_have_64_characters(table):
    name = "<&> é " + "x" * 58
    table.set_table_access_policy({name: POLICY})
    equal(policies(table), {name: shown(POLICY)})


@check
def setting_policies_replaces_all_earlier_ones(table):
    table.set_table_access_policy({"a": POLICY, "b": POLICY})
    table.set_table_access_policy({"c": POLICY})
    equal(list(policies(table)), ["c"])
    table.set_table_access_policy({})
    equal(table.get_table_access_policy(), {})


@check
def the_policies_of_a_deleted_table_are_gone(table):
    table.set_table_access_policy({"mine": POLICY})
    table.delete_table()
    table.create_table()
    equal(table.get_table_access_policy(), {})


@check
def a_missing_table_has_no_policies(service):
    table = service.get_table_client(table_name())
    with raised(ResourceNotFoundError):
        table.get_table_access_policy()
    with raised(ResourceNotFoundError):
        table.set_table_access_policy({"mine": POLICY})
