"""The part of `devtools_testutils` that the tests of `azure-data-tables` import.

The original is in the repository of the Azure SDK for Python, not on PyPI. This one has no recordings: the tests
always run live.
"""

import asyncio
import base64
import functools
import inspect
import json
import os
import time
import zlib

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError


class AzureRecordedTestCase:
    """The base class of the tests."""

    is_live = True
    in_recording = False

    def get_resource_name(self, prefix):
        """Returns a name that is the same in every run of this test and different in other tests."""
        test = os.environ["PYTEST_CURRENT_TEST"].rsplit(" ", 1)[0]
        return f"{prefix}{zlib.crc32(test.encode()):08x}"

    def create_random_name(self, prefix):
        return self.get_resource_name(prefix)

    def generate_sas(self, function, *arguments, **options):
        return function(*arguments, **options)

    def sleep(self, _seconds):
        """Returns at once: an emulator has no delays to wait for."""


class PowerShellPreparer:
    """Passes environment variables to a test by the names of its parameters, in lower case."""

    def __init__(self, _directory, **resources):
        self.names = list(resources)

    def __call__(self, test):
        def prepared(instance):
            result = test(instance, **{name: os.environ[name.upper()] for name in self.names})
            return asyncio.run(result) if inspect.iscoroutine(result) else result

        # Not functools.wraps: pytest would take the parameters of the test for fixtures.
        prepared.__name__ = test.__name__
        return prepared


class Tokens:
    """The credential of the environment, whose tokens `--oauth basic` accepts. No authority has signed them."""

    def __init__(self, exclude_environment_credential=False, **_options):
        self.is_excluded = exclude_environment_credential

    def get_token(self, *scopes, **_options):
        if self.is_excluded:
            raise ClientAuthenticationError("no credential is left")
        now = int(time.time())
        claims = {
            "aud": scopes[0].removesuffix("/.default"),
            "iss": "https://sts.windows.net/00000000-0000-0000-0000-000000000000/",
            "iat": now,
            "nbf": now,
            "exp": now + 3600,
        }
        parts = [json.dumps(part).encode() for part in ({"alg": "none", "typ": "JWT"}, claims)]
        encoded = [base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts]
        return AccessToken(".".join([*encoded, "none"]), now + 3600)

    def close(self):
        pass


class AsyncTokens(Tokens):
    async def get_token(self, *scopes, **options):
        return super().get_token(*scopes, **options)

    async def close(self):
        pass

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_error):
        pass


class ResponseCallback:
    """Hooks of a client that replace a status of the responses by another one."""

    def __init__(self, status=None, new_status=None):
        self.status = status
        self.new_status = new_status
        self.is_done = False

    def override_status(self, response):
        if response.http_response.status_code == self.status:
            response.http_response.status_code = self.new_status
            self.is_done = True

    def override_first_status(self, response):
        if not self.is_done:
            self.override_status(response)


def get_credential(is_async=False, **_options):
    return AsyncTokens() if is_async else Tokens()


def is_live():
    return True


def recorded_by_proxy(test):
    @functools.wraps(test)
    def run(*arguments, **named):
        parameters = inspect.signature(test).parameters
        takes_all = any(it.kind is it.VAR_KEYWORD for it in parameters.values())
        given = {name: value for name, value in named.items() if takes_all or name in parameters}
        return test(*arguments, **given)

    return run


@pytest.fixture(scope="session")
def test_proxy():
    """The server of recordings, which live tests do without."""


def _of_recordings(*_arguments, **_options):
    """A setting of recordings."""


add_body_key_sanitizer = _of_recordings
add_general_regex_sanitizer = _of_recordings
add_oauth_response_sanitizer = _of_recordings
remove_batch_sanitizers = _of_recordings
set_custom_default_matcher = _of_recordings
