"""The pytest plugin of the live tests. It resolves the names of Azure to the emulator and applies cases.toml.

`AZURE_TABLE_LIVE_PORT` is the port of the emulator at 127.0.0.1, `AZURE_TABLE_LIVE_SET` the set of tests:
`storage` or `cosmos`.
"""

import asyncio
import inspect
import json
import logging
import os
import pathlib
import socket
import sys
import time
import tomllib
import types
import urllib.request

import pytest
from devtools_testutils import AsyncTokens, Tokens

SET = os.environ["AZURE_TABLE_LIVE_SET"]
PORT = int(os.environ["AZURE_TABLE_LIVE_PORT"])
ACCOUNTS = [os.environ["TABLES_STORAGE_ACCOUNT_NAME"], os.environ["TABLES_COSMOS_ACCOUNT_NAME"]]
NAMES = [
    f"{account}{suffix}.table.{domain}"
    for account in ACCOUNTS
    for suffix in ("", "-secondary")
    for domain in ("core.windows.net", "cosmos.azure.com")
]
CASES = pathlib.Path(__file__).with_name("cases.toml")

resolve = socket.getaddrinfo
sleep = time.sleep


def resolve_here(host, port, *arguments, **options):
    """Resolves the names of the accounts to the emulator. Other names do not exist."""
    name = host.decode() if isinstance(host, bytes) else host
    if name in NAMES:
        return resolve("127.0.0.1", PORT, *arguments, **options)
    if name in ("127.0.0.1", "localhost"):
        return resolve(host, port, *arguments, **options)
    raise socket.gaierror(socket.EAI_NONAME, f"not a name of the emulator: {name}")


def sleep_in_clients(seconds):
    """Skips the waits of the tests for the service. Waits of the client before a retry remain."""
    if not sys._getframe(1).f_globals["__name__"].startswith("test_"):
        sleep(seconds)


def module(name, **members):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)


socket.getaddrinfo = resolve_here
time.sleep = sleep_in_clients
# Instead of the package, whose credentials need an authority.
module("azure.identity", DefaultAzureCredential=Tokens)
module("azure.identity.aio", DefaultAzureCredential=AsyncTokens)


def pytest_configure(config):
    # The tests leave sessions open.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    for mark in ("asyncio", "clock", "live_test_only"):
        config.addinivalue_line("markers", f"{mark}: a mark of the tests")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs the tests that are coroutines."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def control(method, path, **body):
    """Sends a request to the control endpoint of the emulator."""
    url = f"https://127.0.0.1:{PORT}/-/{path}"
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method=method)
    urllib.request.urlopen(request).close()


@pytest.fixture(autouse=True)
def emulator_clock(request):
    """Sets the clock of the emulator for the tests that are marked so."""
    mark = request.node.get_closest_marker("clock")
    if mark:
        control("POST", "clock", set=mark.args[0], check_dates=False)
    yield
    if mark:
        control("DELETE", "clock")


def pytest_collection_modifyitems(config, items):
    """Marks the tests of the cases, all of which must exist."""
    cases = {test: case for case in tomllib.loads(CASES.read_text()).get(SET, []) for test in case["tests"]}
    for item in items:
        name = item.nodeid.rsplit("/", 1)[-1]
        if case := cases.pop(name, None):
            clock = case.get("clock")
            item.add_marker(pytest.mark.clock(clock) if clock else pytest.mark.xfail(reason=case["reason"], strict=True))
    has_all = not config.option.keyword and not any("::" in argument for argument in config.args)
    if cases and has_all:
        raise pytest.UsageError(f"{CASES.name} lists tests that do not exist: {', '.join(cases)}")
