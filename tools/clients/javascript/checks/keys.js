// Keys that are hard to write in an address, through every operation.

import { odata } from "@azure/data-tables";

import { all, assert, check, checkEach, entity, own, refused, rowKeys } from "../suite.js";

const keys = {
  quotes: "o'clock ''twice''",
  "a percent sign": "100%",
  "what looks encoded": "a%20b%25%2F",
  "a plus": "a+b",
  spaces: " a b ",
  "an ampersand": "a&b=c",
  "commas and brackets": "a,RowKey='b'),(c)",
  signs: "!$*,-.:;<=>@[]^_`{|}~\"",
  "what is not ASCII": "Größe 名前 עברית",
  "what is beyond the first plane": "\u{1f600}\u{10000}",
  nothing: "",
  "256 letters": "k".repeat(256),
};

checkEach("a key is inserted, read, updated, found and deleted", keys, async (key, table) => {
  await table.createEntity(entity(key, { a: 1 }, key));
  await table.updateEntity(entity(key, { b: 1 }, key));
  assert.deepEqual(own(await table.getEntity(key, key)), entity(key, { a: 1, b: 1 }, key));
  await table.upsertEntity(entity(key, { c: 1 }, key), "Replace");
  const filter = odata`PartitionKey eq ${key} and RowKey eq ${key}`;
  assert.deepEqual(await rowKeys(table, filter), [key]);
  await table.deleteEntity(key, key);
  await refused(table.getEntity(key, key), 404, "ResourceNotFound");
});

checkEach(
  "a key stands in a transaction",
  keys,
  async (key, table) => {
    await table.submitTransaction([
      ["create", entity(key, { a: 1 }, key)],
      ["create", entity("other", {}, key)],
    ]);
    await table.submitTransaction([
      ["update", entity(key, { b: 1 }, key)],
      ["delete", entity("other", {}, key)],
    ]);
    const found = await all(table.listEntities());
    assert.deepEqual(found.map(own), [entity(key, { a: 1, b: 1 }, key)]);
  },
  { azurite: { "commas and brackets": "splits the address at the first comma" } },
);

checkEach(
  "a key may not have",
  { "a slash": "a/b", "a backslash": "a\\b", "a number sign": "a#b", "a question mark": "a?b", "a tab": "a\tb" },
  async (key, table) => {
    await refused(table.createEntity(entity(key)), 400, "OutOfRangeInput");
  },
  { azurite: "answers InvalidInput" },
);

check("entities are in the order of UTF-16 code units", async (table) => {
  const ordered = ["", "10", "9", "A", "Z", "a", "z", "é", "\u{10000}", "\u{1f600}", "\ue000"];
  for (const key of [...ordered].reverse()) {
    await table.createEntity(entity(key));
  }
  assert.deepEqual(await rowKeys(table), ordered);
});
