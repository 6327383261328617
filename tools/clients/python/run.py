"""Runs the official Python client's checks against the endpoint of AZURE_STORAGE_CONNECTION_STRING.

Arguments, if any, are words: only checks whose sentence has one of them run.
"""

import importlib
import inspect
import sys
import traceback

import cosmos
import suite

MODULES = [
    "tables",
    "entities",
    "conditions",
    "types",
    "keys",
    "filters",
    "paging",
    "transactions",
    "limits",
    "errors",
    "metadata",
    "service_document",
    "access_policies",
    "signatures",
    "connections",
]
# The modules of checks that sign with the key of the account.
WITH_KEYS = {"access_policies", "signatures", "connections"}


def run(function, arguments, service):
    wanted = inspect.signature(function).parameters
    given = {}
    if "service" in wanted:
        given["service"] = service
    if "table" not in wanted:
        return function(*arguments, **given)
    name = suite.table_name()
    table = service.create_table(name)
    try:
        return function(*arguments, table=table, **given)
    finally:
        service.delete_table(name)


def difference(name, azurite):
    """The server and why the check has to fail there, or nothing."""
    if suite.IS_COSMOS:
        reason = cosmos.difference(name)
        return f"Cosmos DB {reason}" if reason else None
    return f"Azurite: {azurite}" if suite.IS_AZURITE and azurite else None


def outcome(function, arguments, expected, service):
    """Why a check failed, or nothing."""
    try:
        run(function, arguments, service)
    except Exception:  # whatever a client raises, the other checks go on
        return None if expected else traceback.format_exc()
    return f"passes, though it is marked: {expected}" if expected else None


def main(words):
    modules = MODULES
    if suite.HAS_TOKENS:
        modules = [*(module for module in MODULES if module not in WITH_KEYS), "tokens"]
    if suite.IS_COSMOS:
        modules = [*modules, "cosmos"]
    for module in modules:
        importlib.import_module(f"checks.{module}")
    chosen = [
        check for check in suite.CHECKS if not words or any(word in check[0] for word in words)
    ]
    failed = []
    with suite.new_service() as service:
        for name, function, arguments, azurite in chosen:
            expected = difference(name, azurite)
            reason = outcome(function, arguments, expected, service)
            note = f" ({expected})" if expected else ""
            print(f"{'FAILED' if reason else 'ok'}: {name}{note}", flush=True)
            if reason:
                failed.append((name, reason))
    for name, reason in failed:
        print(f"\n{name}\n{reason}")
    if failed or not chosen:
        print(f"python client: {len(failed)} of {len(chosen)} checks failed")
        return 1
    marked = sum(difference(check[0], check[3]) is not None for check in chosen)
    note = f", {marked} of them with a known difference" if marked else ""
    print(f"python client: {len(chosen)} checks passed{note}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
