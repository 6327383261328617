"""Tables: create, delete, list, query."""

from azure.core.exceptions import ResourceExistsError

from suite import check, equal, holds, raised, refused, table_name


def listed(service, filter_text, **options):
    return sorted(item.name for item in service.query_tables(filter_text, **options))


@check
def a_created_table_is_listed_until_it_is_deleted(service):
    name = table_name()
    service.create_table(name)
    equal(listed(service, f"TableName eq '{name}'"), [name])
    service.delete_table(name)
    equal(listed(service, f"TableName eq '{name}'"), [])


@check
def a_table_is_created_once(service, table):
    with refused(
        409, "TableAlreadyExists", "The table specified already exists", ResourceExistsError
    ):
        service.create_table(table.table_name)


@check
def create_if_not_exists_takes_a_table_that_exists(service, table):
    table.create_entity({"PartitionKey": "p", "RowKey": "r"})
    again = service.create_table_if_not_exists(table.table_name)
    equal(again.get_entity("p", "r")["RowKey"], "r")


@check
def create_if_not_exists_creates_a_table(service):
    name = table_name()
    service.create_table_if_not_exists(name)
    equal(listed(service, f"TableName eq '{name}'"), [name])
    service.delete_table(name)


@check(azurite="tells tables apart by the case of their names")
def names_of_tables_have_no_case_but_keep_theirs(service):
    name = "Py" + table_name()
    service.create_table(name)
    try:
        with refused(409, "TableAlreadyExists", kind=ResourceExistsError):
            service.create_table(name.upper())
        equal(listed(service, f"TableName eq '{name}'"), [name])
        service.get_table_client(name.lower()).create_entity({"PartitionKey": "p", "RowKey": "r"})
        equal(len(list(service.get_table_client(name.upper()).list_entities())), 1)
    finally:
        service.delete_table(name.swapcase())
    equal(listed(service, f"TableName eq '{name}'"), [])


@check
def a_table_that_is_missing_can_be_deleted(service):
    service.delete_table(table_name())


@check
def a_table_of_the_same_name_begins_empty(service, table):
    table.create_entity({"PartitionKey": "p", "RowKey": "r"})
    table.delete_table()
    table.create_table()
    equal(list(table.list_entities()), [])


@check
def tables_are_found_by_a_range_of_names(service):
    prefix = table_name()
    names = [f"{prefix}{letter}" for letter in "abc"]
    for name in names:
        service.create_table(name)
    try:
        found = listed(
            service,
            "TableName ge @first and TableName lt @last",
            parameters={"first": prefix, "last": prefix + "c"},
        )
        equal(found, names[:2])
        equal(
            listed(service, f"TableName eq '{names[2]}' or TableName eq '{names[0]}'"),
            [names[0], names[2]],
        )
        holds(set(names) <= {item.name for item in service.list_tables()}, "all are listed")
    finally:
        for name in names:
            service.delete_table(name)


@check
def tables_come_in_pages_that_a_token_continues(service):
    prefix = table_name()
    names = [f"{prefix}{number}" for number in range(5)]
    for name in names:
        service.create_table(name)
    try:
        query = f"TableName ge '{prefix}' and TableName lt '{prefix}9'"
        pages = service.query_tables(query, results_per_page=2).by_page()
        sizes, found = [], []
        for page in pages:
            page_names = [item.name for item in page]
            sizes.append(len(page_names))
            found += page_names
        equal((sizes, found), ([2, 2, 1], names))
        first = service.query_tables(query, results_per_page=2).by_page()
        next(first)
        rest = service.query_tables(query, results_per_page=2).by_page(first.continuation_token)
        equal([item.name for page in rest for item in page], names[2:])
    finally:
        for name in names:
            service.delete_table(name)


@check(azurite="has another code for the length of a name, which the client does not know")
def a_name_that_is_too_short_is_refused_by_the_text_that_the_client_knows(service):
    with raised(ValueError, "between 3-63 characters"):
        service.create_table("ab")


@check(azurite="has another code for the length of a name, which the client does not know")
def a_name_that_is_too_long_is_refused_by_the_text_that_the_client_knows(service):
    with raised(ValueError, "between 3-63 characters"):
        service.create_table("a" * 64)


@check(azurite="has another code for the characters of a name, which the client does not know")
def a_name_with_a_hyphen_is_refused_by_the_text_that_the_client_knows(service):
    with raised(ValueError, "must be alphanumeric"):
        service.create_table("my-table")


@check(azurite="has another code for the characters of a name, which the client does not know")
def a_name_that_begins_with_a_digit_is_refused_by_the_text_that_the_client_knows(service):
    with raised(ValueError, "cannot begin with a number"):
        service.create_table("1table")


@check
def a_name_of_63_letters_is_taken(service):
    name = table_name().ljust(63, "x")
    service.create_table(name)
    service.delete_table(name)


@check(azurite="has another code for the characters of a name, which the client does not know")
def entities_of_a_table_with_a_bad_name_are_refused_by_the_text_that_the_client_knows(service):
    with raised(ValueError, "must be alphanumeric"):
        service.get_table_client("my-table").get_entity("p", "r")
