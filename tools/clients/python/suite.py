"""What the checks share: how they are named and registered, the endpoint, and how a refusal is told."""

import base64
import contextlib
import json
import os
import re
import time
import uuid

from azure.core.credentials import AccessToken
from azure.core.exceptions import HttpResponseError
from azure.data.tables import TableServiceClient

CONNECTION_STRING = os.environ["AZURE_STORAGE_CONNECTION_STRING"]
# With `token`, the clients sign in by a token of Entra ID that no authority has signed.
HAS_TOKENS = os.environ.get("AZURE_TABLE_TESTS_CREDENTIAL") == "token"
IS_AZURITE = os.environ.get("AZURE_TABLE_TESTS_SERVER") == "azurite"
# The endpoint follows Azure Cosmos DB for Table: `azure-table-emulator --dialect cosmos` at http://localhost.
IS_COSMOS = os.environ.get("AZURE_TABLE_TESTS_SERVER") == "cosmos"

FULL = {"Accept": "application/json;odata=fullmetadata"}
MINIMAL = {"Accept": "application/json;odata=minimalmetadata"}
NONE = {"Accept": "application/json;odata=nometadata"}

CHECKS = []


def check(function=None, *, azurite=None):
    """Registers a check; its name is its sentence.

    A parameter `table` is a table of its own, `service` a client of the account. `azurite` says what
    Azurite gets wrong: there the check has to fail.
    """
    if function is None:
        return lambda function: check(function, azurite=azurite)
    CHECKS.append((sentence(function), function, (), azurite))
    return function


def check_each(cases, *, azurite=None):
    """Registers a check for each case, whose key ends the sentence and whose value is an argument.

    `azurite` says what Azurite gets wrong: in all cases, or in those that it names.
    """

    def register(function):
        for case, argument in cases.items():
            reason = azurite.get(case) if isinstance(azurite, dict) else azurite
            CHECKS.append((f"{sentence(function)}: {case}", function, (argument,), reason))
        return function

    return register


def sentence(function):
    return function.__name__.replace("_", " ")


class Tokens:
    """A credential whose tokens have the claims of a valid one, except for those given."""

    def __init__(self, **claims):
        self.claims = claims
        self.scopes = set()

    def get_token(self, *scopes, **_):
        self.scopes.update(scopes)
        now = int(time.time())
        claims = {
            "aud": "https://storage.azure.com",
            "iss": "https://sts.windows.net/00000000-0000-0000-0000-000000000000/",
            "iat": now,
            "nbf": now,
            "exp": now + 3600,
        }
        parts = [{"alg": "none", "typ": "JWT"}, claims | self.claims]
        encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
        return AccessToken(".".join([*encoded, "none"]), now + 3600)


def new_service(**options):
    if HAS_TOKENS:
        return service_with(Tokens(), **options)
    return TableServiceClient.from_connection_string(CONNECTION_STRING, retry_total=0, **options)


def service_with(credential, **options):
    url = re.search("TableEndpoint=([^;]+)", CONNECTION_STRING)[1]
    return TableServiceClient(url, credential=credential, retry_total=0, **options)


def table_name():
    return "py" + uuid.uuid4().hex


def entity(partition_key="p", row_key="r", **properties):
    return {"PartitionKey": partition_key, "RowKey": row_key, **properties}


def row_keys(entities):
    return [found["RowKey"] for found in entities]


def equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} instead of {expected!r}")


def holds(condition, what):
    if not condition:
        raise AssertionError(what)


class Refusal:
    """What a refusal said; filled when the block ends."""

    status = code = message = error = None


@contextlib.contextmanager
def refused(status, code, message="", kind=HttpResponseError):
    """The block ends with this status, error code and text of the service."""
    refusal = Refusal()
    try:
        yield refusal
    except kind as error:
        refusal.error = error
        refusal.status = error.status_code
        refusal.code, refusal.message = told(error)
        codes = code if isinstance(code, tuple) else (code,)
        if refusal.status != status or refusal.code not in codes or message not in refusal.message:
            found = f"{refusal.status} {refusal.code}: {refusal.message}"
            raise AssertionError(f"{found!r} instead of {status} {code} {message!r}") from error
    else:
        raise AssertionError(f"no refusal instead of {status} {code}")


def told(error):
    """The code and the message that the service sent, in JSON or XML."""
    code = getattr(error, "error_code", None)
    if code:
        return getattr(code, "value", code), error.message
    text = error.response.text() if callable(error.response.text) else error.response.text
    try:
        told = json.loads(text)["odata.error"]
        return told["code"], told["message"]["value"]
    except (ValueError, KeyError):
        found = re.search(
            r"<(?:\w+:)?code>(\w+)<.*?<(?:\w+:)?message[^>]*>(.*?)<", text, re.S | re.I
        )
        return found.groups() if found else (None, text)


@contextlib.contextmanager
def raised(kind, message=""):
    """The client itself raises this, beside what the service says."""
    try:
        yield
    except kind as error:
        holds(message in str(error), f"{error} says nothing of {message!r}")
    else:
        raise AssertionError(f"no {kind.__name__}")


class Heard:
    """The last response, as `raw_response_hook=heard` sees it."""

    def __call__(self, response):
        self.status = response.http_response.status_code
        self.headers = response.http_response.headers
