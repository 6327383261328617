"""Pages and the tokens that continue them."""

from suite import Heard, check, entity, equal, holds, refused, row_keys


def fill(table, count, partition_key="p"):
    row_keys = [f"{number:04}" for number in range(count)]
    for start in range(0, count, 100):
        chunk = row_keys[start : start + 100]
        table.submit_transaction(
            [("create", entity(partition_key, key, N=int(key))) for key in chunk]
        )
    return row_keys


@check
def pages_have_the_size_that_was_asked_for(table):
    expected = fill(table, 5)
    pages = [row_keys(page) for page in table.list_entities(results_per_page=2).by_page()]
    equal(pages, [expected[:2], expected[2:4], expected[4:]])


@check
def no_page_follows_a_last_one_that_is_full(table):
    fill(table, 4)
    equal([len(list(page)) for page in table.list_entities(results_per_page=2).by_page()], [2, 2])


@check(azurite="has tokens of another form")
def a_token_continues_in_another_query(table):
    expected = fill(table, 5)
    first = table.list_entities(results_per_page=2).by_page()
    equal(row_keys(next(first)), expected[:2])
    holds(first.continuation_token["PartitionKey"].startswith("1!"), first.continuation_token)
    rest = table.list_entities(results_per_page=2).by_page(first.continuation_token)
    equal([row_keys(page) for page in rest], [expected[2:4], expected[4:]])


@check
def a_token_continues_where_keys_are_odd(table):
    keys = ["", " ", "%", "+&=", "it's", "é", "\U0001f600"]
    for key in keys:
        table.create_entity(entity(key, key))
    found = [row_keys(page) for page in table.list_entities(results_per_page=1).by_page()]
    equal(sorted(sum(found, [])), sorted(keys))
    equal([len(page) for page in found if page], [1] * len(keys))


@check
def a_filter_holds_on_every_page(table):
    expected = fill(table, 10)
    pages = table.query_entities("N ge 3 and N ne 5", results_per_page=3).by_page()
    found = [row_keys(page) for page in pages]
    equal(sum(found, []), expected[3:5] + expected[6:])
    holds(all(len(page) <= 3 for page in found), found)


@check
def a_selection_holds_on_every_page(table):
    fill(table, 3)
    pages = table.list_entities(select="N", results_per_page=1).by_page()
    equal([dict(one) for page in pages for one in page], [{"N": 0}, {"N": 1}, {"N": 2}])


@check
def what_changes_behind_a_token_is_seen(table):
    fill(table, 3)
    first = table.list_entities(results_per_page=1).by_page()
    next(first)
    table.delete_entity("p", "0001")
    rest = table.list_entities(results_per_page=1).by_page(first.continuation_token)
    equal([key for page in rest for key in row_keys(page)], ["0002"])


@check
def a_page_has_at_most_1000_entities(table):
    expected = fill(table, 1001)
    pages = [row_keys(page) for page in table.list_entities().by_page()]
    equal([len(page) for page in pages], [1000, 1])
    equal(sum(pages, []), expected)


@check
def an_iteration_goes_over_all_partitions(table):
    for partition_key in "abc":
        fill(table, 3, partition_key)
    equal(len(list(table.list_entities(results_per_page=2))), 9)


@check
def the_last_page_has_no_token(table):
    fill(table, 2)
    heard = Heard()
    list(table.list_entities(raw_response_hook=heard))
    holds(not [name for name in heard.headers if "continuation" in name.lower()], heard.headers)


@check(azurite="takes it")
def more_than_1000_a_page_is_refused(table):
    with refused(400, "InvalidInput"):
        list(table.list_entities(results_per_page=1001))


@check(azurite="takes it")
def a_token_that_the_service_did_not_give_is_refused(table):
    token = {"PartitionKey": "nonsense", "RowKey": "nonsense"}
    with refused(400, "InvalidInput"):
        list(next(table.list_entities().by_page(token)))


@check
def an_empty_table_has_no_pages_with_entities(table):
    equal(list(table.list_entities()), [])
    equal(list(table.query_entities("A eq 5")), [])
