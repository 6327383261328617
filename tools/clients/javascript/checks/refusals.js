// Limits, and what a refusal says.

import { all, assert, check, checkEach, entity, refused, tableClient, tableName } from "../suite.js";

const many = (count, value) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, value]));
const text = "x".repeat(32768);

check("an entity has 252 properties", async (table) => {
  await table.createEntity(entity("r", many(252, 1)));
  assert.equal((await table.getEntity("p", "r")).p251, 1);
});

check("an entity of almost 1 MiB is taken", async (table) => {
  await table.createEntity(entity("r", many(15, text)));
  assert.equal((await table.getEntity("p", "r")).p14, text);
});

const tooMuch = {
  "a 253rd property": [many(253, 1), "TooManyProperties"],
  "a name of 256 characters": [{ ["n".repeat(256)]: 1 }, "PropertyNameTooLong"],
  "a name with a hyphen": [{ "my-name": 1 }, "PropertyNameInvalid"],
  "a string of more than 64 KiB": [{ a: `${text}x` }, "PropertyValueTooLarge"],
  "a binary of more than 64 KiB": [{ a: new Uint8Array(65537) }, "PropertyValueTooLarge"],
  "more than 1 MiB": [many(16, text), "EntityTooLarge"],
};

checkEach(
  "an entity may not have",
  tooMuch,
  async ([properties, code], table) => {
    await refused(table.createEntity(entity("r", properties)), 400, code);
    assert.deepEqual(await all(table.listEntities()), []);
  },
  {
    azurite: {
      "a 253rd property": "takes it",
      "a name of 256 characters": "takes it",
      "a name with a hyphen": "takes it",
      "more than 1 MiB": "takes it",
    },
  },
);

check("a body of more than 4 MiB is refused", async (table) => {
  await refused(table.createEntity(entity("r", many(150, text))), 413, "RequestBodyTooLarge");
});

check(
  "a merge adds no 253rd property",
  async (table) => {
    await table.createEntity(entity("r", many(252, 1)));
    await refused(table.updateEntity(entity("r", { q: 1 })), 400, "TooManyProperties");
  },
  { azurite: "merges beyond the limit" },
);

check("an entity without a row key is refused", async (table) => {
  await refused(table.createEntity({ partitionKey: "p" }), 400, "PropertiesNeedValue");
});

check("an entity without a partition key is refused", async (table) => {
  await refused(table.createEntity({ rowKey: "r" }), 400, "PropertiesNeedValue");
});

checkEach(
  "an operation on a missing table says so",
  {
    insert: (table) => table.createEntity(entity()),
    read: (table) => table.getEntity("p", "r"),
    query: (table) => all(table.listEntities()),
    update: (table) => table.updateEntity(entity()),
    upsert: (table) => table.upsertEntity(entity()),
    delete: (table) => table.deleteEntity("p", "r"),
  },
  async (operation) => {
    await refused(operation(tableClient(tableName())), 404, "TableNotFound", "The table specified does not exist");
  },
);

check("a refusal tells the id of the request and the time", async (table) => {
  let id;
  const onResponse = (response) => (id = response.headers.get("x-ms-request-id"));
  const { message } = await refused(table.getEntity("p", "r", { onResponse }), 404, "ResourceNotFound");
  assert.ok(message.includes("\nRequestId:") && message.includes("\nTime:"), message);
  assert.ok(id === undefined || message.includes(id), message);
});
