// Entity group transactions.

import { TableTransaction } from "@azure/data-tables";

import { all, assert, check, checkEach, entity, own, refused, rowKeys, tableClient, tableName } from "../suite.js";

/** A transaction that fails, and leaves the table as it was. */
async function failed(table, actions, status, code, message) {
  const before = await all(table.listEntities());
  const found = await refused(table.submitTransaction(actions), status, code, message);
  assert.deepEqual(await all(table.listEntities()), before);
  return found;
}

check("every kind of operation in one transaction", async (table) => {
  for (const key of "bcdefg") {
    await table.createEntity(entity(key, { a: 1 }));
  }
  const { etag } = await table.getEntity("p", "g");
  const transaction = new TableTransaction();
  transaction.createEntity(entity("a", { a: 2 }));
  transaction.deleteEntity("p", "b");
  transaction.updateEntity(entity("c", { b: 2 }), "Merge");
  transaction.updateEntity(entity("d", { b: 2 }), "Replace");
  transaction.upsertEntity(entity("e", { b: 2 }), "Merge");
  transaction.upsertEntity(entity("f", { b: 2 }), "Replace");
  transaction.updateEntity(entity("g", { b: 2 }), "Merge", { etag });
  transaction.upsertEntity(entity("h", { b: 2 }));
  const answer = await table.submitTransaction(transaction.actions);
  assert.equal(answer.status, 202);
  assert.deepEqual(answer.subResponses.map(({ status }) => status), Array(8).fill(204));
  const found = (await all(table.listEntities())).map((one) => [one.rowKey, one.a, one.b]);
  assert.deepEqual(found, [
    ["a", 2, undefined],
    ["c", 1, 2],
    ["d", undefined, 2],
    ["e", 1, 2],
    ["f", undefined, 2],
    ["g", 1, 2],
    ["h", undefined, 2],
  ]);
});

check("the answer tells ETags, and of an insert the row key", async (table) => {
  const answer = await table.submitTransaction(["a", "b"].map((key) => ["create", entity(key)]));
  for (const key of ["a", "b"]) {
    const { etag } = await table.getEntity("p", key);
    assert.equal(answer.getResponseForEntity(key)?.etag, etag);
  }
});

check("one operation is a transaction", async (table) => {
  const { subResponses } = await table.submitTransaction([["create", entity()]]);
  assert.equal(subResponses.length, 1);
  assert.deepEqual(await rowKeys(table), ["r"]);
});

check("a hundred operations are one transaction", async (table) => {
  const actions = Array.from({ length: 100 }, (_, index) => ["create", entity(String(index))]);
  assert.equal((await table.submitTransaction(actions)).subResponses.length, 100);
  assert.equal((await rowKeys(table)).length, 100);
});

check("a hundred and one operations are refused", async (table) => {
  const actions = Array.from({ length: 101 }, (_, index) => ["create", entity(String(index))]);
  await failed(table, actions, 400, "InvalidInput", "exceeds the maximum 100 changes");
});

check("an insert of what exists undoes all, and tells its index", async (table) => {
  await table.createEntity(entity("there"));
  const actions = ["a", "b", "there", "c"].map((key) => ["create", entity(key)]);
  const { message } = await failed(table, actions, 409, "EntityAlreadyExists", "The specified entity already exists");
  assert.match(message, /^2:/);
});

check("an old ETag undoes all, and tells its index", async (table) => {
  const { etag } = await table.createEntity(entity("there"));
  await table.upsertEntity(entity("there", { a: 1 }));
  const actions = [
    ["create", entity("a")],
    ["update", entity("there"), "Merge", { etag }],
  ];
  const { message } = await failed(table, actions, 412, "UpdateConditionNotSatisfied", "The update condition");
  assert.match(message, /^1:/);
});

checkEach(
  "what is missing undoes all",
  {
    merge: ["update", entity("missing"), "Merge"],
    replace: ["update", entity("missing"), "Replace"],
    delete: ["delete", entity("missing")],
  },
  async (action, table) => {
    const actions = [["create", entity("a")], action];
    const { message } = await failed(table, actions, 404, "ResourceNotFound", "does not exist");
    assert.match(message, /^1:/);
  },
);

check("a property that is too large undoes all", async (table) => {
  const actions = [
    ["create", entity("a")],
    ["create", entity("b", { text: "x".repeat(32769) })],
  ];
  const { message } = await failed(table, actions, 400, "PropertyValueTooLarge");
  assert.match(message, /^1:/);
});

check("an entity appears once in a transaction", async (table) => {
  const actions = [1, 2].map((a) => ["upsert", entity("r", { a })]);
  await failed(table, actions, 400, "InvalidDuplicateRow");
});

check("the client keeps to one partition", async (table) => {
  const actions = ["p", "q"].map((key) => ["create", entity("r", {}, key)]);
  await assert.rejects(table.submitTransaction(actions), /same partitionKey/);
});

check("a transaction of a missing table is refused", async () => {
  const actions = ["a", "b"].map((key) => ["create", entity(key)]);
  await refused(tableClient(tableName()).submitTransaction(actions), 404, "TableNotFound");
});

check("more than 4 MiB are refused", async (table) => {
  const large = Object.fromEntries(Array.from({ length: 14 }, (_, index) => [`p${index}`, "x".repeat(32768)]));
  const actions = Array.from({ length: 10 }, (_, index) => ["create", entity(String(index), large)]);
  await assert.rejects(table.submitTransaction(actions), { statusCode: 413 });
  assert.deepEqual(await rowKeys(table), []);
});

check("a transaction that failed may be sent again", async (table) => {
  await table.createEntity(entity("there"));
  const actions = ["a", "there"].map((key) => ["create", entity(key, { a: 1 })]);
  await failed(table, actions, 409, "EntityAlreadyExists");
  await table.deleteEntity("p", "there");
  await table.submitTransaction(actions);
  assert.deepEqual(
    (await all(table.listEntities())).map(own),
    ["a", "there"].map((key) => entity(key, { a: 1 })),
  );
});
