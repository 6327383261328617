// Filters: operators, literals, and the client's own way to write them.

import { odata } from "@azure/data-tables";

import { all, assert, check, checkEach, entity, own, refused, rowKeys } from "../suite.js";

// For each type three values in order, and the middle one as a literal.
const types = {
  String: [["a", "it's", "z"], odata`${"it's"}`.replace(/^it''s$/, "'it''s'")],
  Int32: [[-5, 7, 2147483647], "7"],
  Int64: [[-(2n ** 63n), 7n, 2n ** 63n - 1n], "7L"],
  Double: [[-1e300, 2.5, 1e300], "2.5"],
  DateTime: [["1601-01-01", "2024-01-01", "9999-01-01"].map((day) => new Date(day)), "datetime'2024-01-01T00:00:00Z'"],
  Guid: [
    [1, 2, 3].map((n) => ({ type: "Guid", value: `00000000-0000-0000-0000-00000000000${n}` })),
    "guid'00000000-0000-0000-0000-000000000002'",
  ],
  Binary: [[[0], [10, 255], [255]].map((bytes) => Uint8Array.from(bytes)), "X'0aff'"],
};

checkEach(
  "every operator compares",
  types,
  async ([values, literal], table) => {
    for (const [index, value] of values.entries()) {
      await table.createEntity(entity(String(index + 1), { v: value }));
    }
    const expected = { eq: "2", ne: "13", gt: "3", ge: "23", lt: "1", le: "12" };
    for (const [operator, rows] of Object.entries(expected)) {
      assert.deepEqual([operator, (await rowKeys(table, `v ${operator} ${literal}`)).join("")], [operator, rows]);
    }
  },
  { azurite: { Binary: "compares Binary for equality only" } },
);

async function three(table) {
  for (const [index, name] of ["one", "two", "three"].entries()) {
    await table.createEntity(entity(String(index + 1), { a: index + 1, b: name, ...(index === 0 && { c: true }) }));
  }
}

const filters = {
  and: ["a gt 1 and b eq 'three'", "3"],
  or: ["a eq 1 or a eq 3", "13"],
  "and before or": ["a eq 1 or a eq 2 and b eq 'two'", "12"],
  brackets: ["(a eq 1 or a eq 2) and b eq 'two'", "2"],
  not: ["not (a eq 2)", "13"],
  "not and and": ["not (a eq 2) and a lt 3", "1"],
  "a range of keys": ["PartitionKey eq 'p' and RowKey ge '2' and RowKey lt '3'", "2"],
  "a Boolean": ["c eq true", "1"],
  "a property that is missing": ["missing eq 'x'", ""],
  "the text of the client": [odata`b eq ${"two"} and a eq ${2}`, "2"],
  "a Boolean of the client": [odata`c eq ${true}`, "1"],
  "a Date of the client": [odata`Timestamp gt ${new Date("2000-01-01")}`, "123"],
};

checkEach("a filter finds its rows", filters, async ([filter, expected], table) => {
  await three(table);
  assert.equal((await rowKeys(table, filter)).join(""), expected);
});

checkEach(
  "a property of another type does not match",
  { "Int32 by Double": "i ge 1.2", "String by Int32": "s eq 5", "Int32 by String": "i eq '5'" },
  async (filter, table) => {
    await table.createEntity(entity("r", { i: 5, s: "5", l: 5n }));
    assert.deepEqual(await rowKeys(table, filter), []);
  },
  { azurite: { "Int32 by Double": "compares what differs in type" } },
);

check(
  "an integer is compared with wider numbers",
  async (table) => {
    await table.createEntity(entity("r", { l: 5n }));
    assert.deepEqual(await rowKeys(table, "l eq 5"), ["r"]);
  },
  { azurite: "compares an Int64 as text" },
);

check("a value with a quote stays one value", async (table) => {
  const value = "x' or a ne 'y";
  await table.createEntity(entity("r", { a: value }));
  await table.createEntity(entity("other", { a: "z" }));
  assert.deepEqual(await rowKeys(table, odata`a eq ${value}`), ["r"]);
});

check(
  "a selection of a query takes what is named, and null where it is missing",
  async (table) => {
    await three(table);
    const found = await all(table.listEntities({ queryOptions: { select: ["rowKey", "c"], filter: "a le 2" } }));
    assert.deepEqual(found.map(own), [
      { rowKey: "1", c: true },
      { rowKey: "2", c: null },
    ]);
  },
  { azurite: "leaves it out" },
);

checkEach(
  "a filter that cannot be read is refused",
  { "an unfinished comparison": "a eq", "an unknown operator": "a is 5", "text without an end": "a eq 'x", "words in a row": "a eq 5 b eq 6" },
  async (filter, table) => {
    await refused(all(table.listEntities({ queryOptions: { filter } })), 400, "InvalidInput");
  },
  { azurite: { "text without an end": "takes it" } },
);

check(
  "a function in a filter is not implemented",
  async (table) => {
    const filter = "startswith(a, 'x')";
    await refused(all(table.listEntities({ queryOptions: { filter } })), 501, "NotImplemented");
  },
  { azurite: "answers 400 InvalidInput" },
);
