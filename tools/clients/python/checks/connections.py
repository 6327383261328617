"""Connection strings, addresses and credentials."""

import base64
from datetime import datetime, timedelta, timezone

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import ClientAuthenticationError
from azure.data.tables import TableClient, TableServiceClient, generate_account_sas

from suite import check, entity, equal, raised, refused, row_keys


def key_of(service):
    return service.credential.named_key.key


@check
def a_connection_string_has_the_key(service, table):
    text = f"AccountName={service.account_name};AccountKey={key_of(service)};TableEndpoint={service.url}"
    client = TableClient.from_connection_string(text, table.table_name)
    client.create_entity(entity())
    equal(row_keys(table.list_entities()), ["r"])


@check
def a_connection_string_has_a_signature(service, table):
    expiry = datetime.now(timezone.utc) + timedelta(hours=1)
    token = generate_account_sas(service.credential, "sco", "rla", expiry)
    text = f"TableEndpoint={service.url};SharedAccessSignature={token}"
    client = TableClient.from_connection_string(text, table.table_name, retry_total=0)
    client.create_entity(entity())
    equal(row_keys(client.list_entities()), ["r"])


@check
def a_connection_string_without_an_account_is_refused_by_the_client():
    with raised(ValueError):
        TableServiceClient.from_connection_string("DefaultEndpointsProtocol=https")


@check
def a_client_has_an_address_and_a_credential(service, table):
    credential = AzureNamedKeyCredential(service.account_name, key_of(service))
    client = TableClient(service.url, table_name=table.table_name, credential=credential)
    client.create_entity(entity())
    equal(row_keys(client.list_entities()), ["r"])


@check
def a_client_has_the_address_of_a_table(service, table):
    url = f"{service.url.rstrip('/')}/{table.table_name}"
    client = TableClient.from_table_url(url, credential=service.credential)
    equal(client.table_name, table.table_name)
    client.create_entity(entity())
    equal(row_keys(table.list_entities()), ["r"])


@check(azurite="answers AuthorizationFailure")
def a_wrong_key_is_refused(service, table):
    wrong = AzureNamedKeyCredential(service.account_name, base64.b64encode(b"wrong").decode())
    client = TableClient(service.url, table_name=table.table_name, credential=wrong, retry_total=0)
    with refused(
        403, "AuthenticationFailed", "Server failed to authenticate", ClientAuthenticationError
    ):
        list(client.list_entities())
    with refused(403, "AuthenticationFailed"):
        client.create_entity(entity())
    equal(list(table.list_entities()), [])


@check(azurite="answers AuthorizationFailure")
def a_wrong_account_is_refused(service, table):
    wrong = AzureNamedKeyCredential("another", key_of(service))
    client = TableClient(service.url, table_name=table.table_name, credential=wrong, retry_total=0)
    with refused(403, "AuthenticationFailed", kind=ClientAuthenticationError):
        list(client.list_entities())


@check(azurite="answers AuthorizationFailure")
def a_credential_takes_another_key_while_it_is_used(service, table):
    wrong = base64.b64encode(b"wrong").decode()
    credential = AzureNamedKeyCredential(service.account_name, wrong)
    client = TableClient(
        service.url, table_name=table.table_name, credential=credential, retry_total=0
    )
    with raised(ClientAuthenticationError):
        list(client.list_entities())
    credential.update(service.account_name, key_of(service))
    equal(list(client.list_entities()), [])
