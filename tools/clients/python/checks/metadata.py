"""Levels of metadata, and the headers of requests and answers."""

from datetime import datetime, timedelta, timezone
from uuid import UUID

from azure.data.tables import EdmType, EntityProperty

from suite import FULL, MINIMAL, NONE, Heard, check, check_each, entity, equal, holds, new_service

GUID = UUID("c9da6455-213d-42c9-9a79-3e9149a57833")


@check(azurite="neither doubles quotes nor encodes keys")
def full_metadata_have_the_type_the_id_and_the_link(table):
    table.create_entity(entity("p'q", "é", A=1))
    metadata = table.get_entity("p'q", "é", headers=FULL).metadata
    name = table.table_name
    equal(metadata["type"], f"{table.account_name}.{name}")
    link = f"{name}(PartitionKey='p''q',RowKey='%C3%A9')"
    equal((metadata["editLink"], metadata["id"]), (link, f"{table.url.rstrip('/')}/{link}"))
    holds(metadata["etag"] is not None and metadata["timestamp"] is not None, metadata)


@check
def minimal_metadata_have_the_etag_and_types(table):
    table.create_entity(entity(G=GUID, L=EntityProperty(5, EdmType.INT64)))
    found = table.get_entity("p", "r", headers=MINIMAL)
    equal((found["G"], found["L"]), (GUID, (5, EdmType.INT64)))
    equal(set(found.metadata), {"etag", "timestamp"})


@check
def without_metadata_types_are_lost(table):
    table.create_entity(entity(G=GUID, L=EntityProperty(5, EdmType.INT64)))
    for found in (
        table.get_entity("p", "r", headers=NONE),
        next(table.list_entities(headers=NONE)),
    ):
        equal((found["G"], found["L"]), (str(GUID), "5"))


@check_each({"full": FULL, "minimal": MINIMAL, "none": NONE})
def the_type_of_the_content_repeats_the_level(headers, table):
    table.create_entity(entity())
    heard = Heard()
    list(table.list_entities(headers=headers, raw_response_hook=heard))
    level = headers["Accept"].split("=")[1]
    holds(
        heard.headers["Content-Type"].startswith(f"application/json;odata={level}"),
        heard.headers["Content-Type"],
    )


@check
def a_query_with_full_metadata_has_links(table):
    table.create_entity(entity())
    (found,) = table.list_entities(headers=FULL)
    equal(found.metadata["editLink"], f"{table.table_name}(PartitionKey='p',RowKey='r')")


@check
def the_time_stamp_is_now_and_moves_forward(table):
    table.create_entity(entity())
    first = table.get_entity("p", "r").metadata["timestamp"]
    holds(abs(datetime.now(timezone.utc) - first) < timedelta(minutes=5), first)
    table.upsert_entity(entity())
    second = table.get_entity("p", "r").metadata["timestamp"]
    holds(second >= first, (first, second))
    holds(second.tables_service_value != first.tables_service_value, second)


@check
def the_etag_is_the_time_stamp(table):
    # Recorded everywhere: W/"datetime'<Timestamp, encoded>'".
    etag = table.create_entity(entity())["etag"]
    text = table.get_entity("p", "r").metadata["timestamp"].tables_service_value
    equal(etag, f"W/\"datetime'{text.replace(':', '%3A')}'\"")


@check
def a_time_stamp_that_is_sent_is_ignored(table):
    table.create_entity(entity(Timestamp=datetime(2001, 1, 1, tzinfo=timezone.utc)))
    holds(table.get_entity("p", "r").metadata["timestamp"].year > 2001, "the service's own time")


@check(azurite="tells a version of its own")
def every_answer_has_an_id_of_its_own_and_the_version(table):
    ids = set()
    for _ in range(3):
        heard = Heard()
        table.upsert_entity(entity(), raw_response_hook=heard)
        ids.add(heard.headers["x-ms-request-id"])
        equal(heard.headers["x-ms-version"], "2019-02-02")
    equal(len(ids), 3)


@check_each(
    {"2019-02-02": "2019-02-02", "2020-12-06": "2020-12-06"}, azurite="tells a version of its own"
)
def the_version_that_was_asked_for_is_told(version, table):
    heard = Heard()
    with new_service(api_version=version) as service:
        service.get_table_client(table.table_name).upsert_entity(entity(), raw_response_hook=heard)
    equal(heard.headers["x-ms-version"], version)


@check
def an_id_of_the_client_does_not_disturb(table):
    # The recordings of the service do not repeat it in the answer, the documentation says it may.
    heard = Heard()
    table.upsert_entity(entity(), request_id="mine", raw_response_hook=heard)
    equal(heard.status, 204)
    holds(heard.headers.get("x-ms-client-request-id", "mine") == "mine", "another request's id")


@check(azurite="sends no Cache-Control")
def an_answer_is_not_to_be_kept(table):
    table.create_entity(entity())
    heard = Heard()
    table.get_entity("p", "r", raw_response_hook=heard)
    equal(heard.headers["Cache-Control"], "no-cache")
    equal(heard.headers["X-Content-Type-Options"], "nosniff")
    equal(heard.headers["ETag"], table.get_entity("p", "r").metadata["etag"])
