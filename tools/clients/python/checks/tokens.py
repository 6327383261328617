"""Tokens of Entra ID. They run with AZURE_TABLE_TESTS_CREDENTIAL=token."""

import time

from azure.core.exceptions import ClientAuthenticationError

from suite import Tokens, check, check_each, entity, equal, new_service, refused, service_with


@check
def the_client_asks_for_a_token_of_the_storage_service(table):
    tokens = Tokens()
    service_with(tokens).get_table_client(table.table_name).create_entity(entity())
    equal(tokens.scopes, {"https://storage.azure.com/.default"})


@check_each(
    {
        "another audience": {"aud": "https://vault.azure.net"},
        "another issuer": {"iss": "https://example.com/"},
        "the past": {"exp": int(time.time()) - 60},
        "the future": {"nbf": int(time.time()) + 600},
    }
)
def a_token_is_refused(claims):
    with refused(401, "InvalidAuthenticationInfo", kind=ClientAuthenticationError):
        list(service_with(Tokens(**claims)).list_tables())
    list(new_service().list_tables())
