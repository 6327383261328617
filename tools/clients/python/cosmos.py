"""The checks that do not hold for Azure Cosmos DB: there each of them has to fail, for the given reason.

A name ends with `*` for all checks whose sentence begins with it.
"""

DIFFERENCES = {
    "has no access policies": [
        "a new table has no policies",
        "a policy *",
        "times of a policy have seven digits",
        "five policies come back",
        "six policies are refused by the code that the client knows",
        "an id may have 64 characters",
        "setting policies replaces all earlier ones",
        "the policies of a deleted table are gone",
        "a missing table has no policies",
        "a stored policy gives what the signature leaves out",
        "a signature ends with its policy",
        "a signature for a table opens neither its policies nor the table itself",
    ],
    "has no service properties and no statistics": [
        "properties have all four parts",
        "logging comes back",
        "metrics come back",
        "cors rules come back",
        "what is not named stays as it is",
        "no cors rules clear them",
        "six cors rules are refused",
        "statistics are those of the secondary",
        "the primary has no statistics",
        "an account signature needs the permission for: service properties",
        "an account signature needs the resource type for: service properties",
    ],
    "has other words and codes": [
        "a table is created once",
        "entities of a table with a bad name are refused by the text that the client knows",
        "a function in a filter is not implemented",
        "a hundred and one operations are refused",
        "one operation that fails says no index",
        "the service keeps to one partition",
        "a transaction of a missing table is refused",
        "an operation on a missing table says so: *",
        "a refusal tells the id of the request and the time",
        "a signature that has expired is refused",
        "a signature that is not valid yet is refused",
        "a signature that was changed is refused",
        "an account signature that has expired is refused",
        "a wrong key is refused",
        "a wrong account is refused",
        "a credential takes another key while it is used",
    ],
    "has other headers": [
        "an insert returns nothing where that is preferred",
        "the answer to a write has a date and the version",
        "every answer has an id of its own and the version",
        "the version that was asked for is told: *",
        "an answer is not to be kept",
    ],
    "accepts other names of tables, with their case": [
        "names of tables have no case but keep theirs",
        "a name that is too short is refused by the text that the client knows",
        "a name that is too long is refused by the text that the client knows",
        "a name with a hyphen is refused by the text that the client knows",
        "a name that begins with a digit is refused by the text that the client knows",
    ],
    "leaves out a selected column that is missing": [
        "a selected column that is missing is null",
        "a column that only some have is null in a selection",
    ],
    "shows seven digits": [
        "a date time comes back to the tick: the first",
        "a date time comes back to the tick: whole seconds",
    ],
    "accepts no empty key": [
        "a key is inserted read updated found and deleted: nothing",
        "a key stands in a transaction: nothing",
        "entities are in the order of utf16 code units",
        "a token continues where keys are odd",
    ],
    "finds no row by its Timestamp": ["a time stamp can be compared"],
    "has other tokens": ["a token continues in another query"],
    "has other limits": [
        "more than 1000 a page is refused",
        "a bad property undoes all",
        "almost 4 mib are taken",
        "an entity has no 253rd property",
        "a merge adds no 253rd property",
        "the name of a property has no 256th character",
        "a string has 32 k utf16 units: *",
        "a binary has 64 kib",
        "an entity of more than 1 mib is refused",
        "a merge makes no entity of more than 1 mib",
    ],
    "applies operations on one entity in their order": [
        "an entity appears once in a transaction",
    ],
}


def difference(sentence):
    """Why a check does not hold, or nothing."""
    for reason, names in DIFFERENCES.items():
        for name in names:
            if sentence == name or name.endswith("*") and sentence.startswith(name[:-1]):
                return reason
    return None
