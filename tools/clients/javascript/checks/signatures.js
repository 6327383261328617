// Shared access signatures that the client makes itself.

import { AzureSASCredential, TableServiceClient, generateAccountSas, generateTableSas } from "@azure/data-tables";

import {
  all, assert, check, checkEach, clientOptions, credential, entity, forbidden, own, refused, rowKeys, service,
  tableClient, tableName, url,
} from "../suite.js";

const hours = (number) => new Date(Date.now() + number * 3_600_000);
const permissionCode = "AuthorizationPermissionMismatch";
const allPermissions = { query: true, add: true, update: true, delete: true };

/** The table as one who has only a signature for it sees it. */
function withSignature(table, options) {
  const token = generateTableSas(table.tableName, credential, { expiresOn: hours(1), ...options });
  return tableClient(table.tableName, new AzureSASCredential(token));
}

function serviceWith(options) {
  const token = generateAccountSas(credential, { expiresOn: hours(1), ...options });
  return new TableServiceClient(url, new AzureSASCredential(token), { ...clientOptions });
}

const operations = {
  read: [{ query: true }, (table) => table.getEntity("p", "r")],
  query: [{ query: true }, (table) => all(table.listEntities())],
  insert: [{ add: true }, (table) => table.createEntity(entity("new"))],
  upsert: [{ add: true, update: true }, (table) => table.upsertEntity(entity("upserted"))],
  update: [{ update: true }, (table) => table.updateEntity(entity("r", { a: 2 }))],
  delete: [{ delete: true }, (table) => table.deleteEntity("p", "r")],
};

checkEach("a signature for a table allows what it permits", operations, async ([permissions, operation], table) => {
  await table.createEntity(entity("r", { a: 1 }));
  await operation(withSignature(table, { permissions }));
});

checkEach("a signature for a table allows nothing else", operations, async ([needed, operation], table) => {
  await table.createEntity(entity("r", { a: 1 }));
  const others = Object.keys(allPermissions).filter((name) => !needed[name]);
  const permissions = Object.fromEntries(others.map((name) => [name, true]));
  await refused(operation(withSignature(table, { permissions })), 403, permissionCode);
  assert.deepEqual((await all(table.listEntities())).map(own), [entity("r", { a: 1 })]);
});

check(
  "a signature that has expired is refused",
  async (table) => {
    const client = withSignature(table, { expiresOn: hours(-1) });
    await refused(rowKeys(client), 403, "AuthenticationFailed", "Server failed to authenticate");
  },
  { azurite: "answers AuthorizationFailure" },
);

check(
  "a signature that is not valid yet is refused",
  async (table) => {
    const client = withSignature(table, { startsOn: hours(1), expiresOn: hours(2) });
    await refused(rowKeys(client), 403, "AuthenticationFailed");
  },
  { azurite: "answers AuthorizationFailure" },
);

check("a signature for one table opens no other", async (table) => {
  const other = tableName();
  await service.createTable(other);
  const token = generateTableSas(table.tableName, credential, { permissions: allPermissions });
  const client = tableClient(other, new AzureSASCredential(token));
  await forbidden(rowKeys(client));
  await forbidden(client.createEntity(entity()));
  await service.deleteTable(other);
});

const ranges = {
  partitions: [{ startPartitionKey: "b", endPartitionKey: "c" }, "b1 b2 c1 c2"],
  "from a partition on": [{ startPartitionKey: "c" }, "c1 c2 d1 d2"],
  "from a row to a row": [
    { startPartitionKey: "b", startRowKey: "2", endPartitionKey: "d", endRowKey: "1" },
    "b2 c1 c2 d1",
  ],
};

async function fill(table) {
  for (const partitionKey of "abcd") {
    for (const rowKey of "12") {
      await table.createEntity(entity(rowKey, {}, partitionKey));
    }
  }
}

const keys = async (table) =>
  (await all(table.listEntities())).map((one) => one.partitionKey + one.rowKey).join(" ");

checkEach(
  "a query sees the range of its signature only",
  ranges,
  async ([range, expected], table) => {
    await fill(table);
    assert.equal(await keys(withSignature(table, { permissions: { query: true }, ...range })), expected);
  },
  { azurite: "looks at no range" },
);

check(
  "a write outside the range of its signature is refused",
  async (table) => {
    await fill(table);
    const range = { startPartitionKey: "b", endPartitionKey: "c" };
    const client = withSignature(table, { permissions: allPermissions, ...range });
    await client.createEntity(entity("new", {}, "b"));
    await client.deleteEntity("c", "2");
    await forbidden(client.createEntity(entity("new", {}, "a")));
    await forbidden(client.upsertEntity(entity("new", {}, "d")));
    await forbidden(client.updateEntity(entity("1", {}, "a")));
    await forbidden(client.deleteEntity("d", "1"));
    assert.equal(await keys(table), "a1 a2 b1 b2 bnew c1 d1 d2");
  },
  { azurite: "looks at no range" },
);

check(
  "a transaction is signed by a table signature",
  async (table) => {
    const client = withSignature(table, { permissions: allPermissions });
    await client.submitTransaction(["a", "b"].map((key) => ["create", entity(key)]));
    assert.deepEqual(await rowKeys(client), ["a", "b"]);
  },
  { azurite: "refuses the batch" },
);

check("a transaction needs the permission of each operation", async (table) => {
  await table.createEntity(entity("there"));
  const client = withSignature(table, { permissions: { add: true } });
  const actions = [
    ["create", entity()],
    ["delete", entity("there")],
  ];
  await forbidden(client.submitTransaction(actions));
  assert.deepEqual(await rowKeys(table), ["there"]);
});

/** A signature that leaves everything to a stored policy. */
function withPolicy(table, identifier) {
  const token = generateTableSas(table.tableName, credential, { identifier });
  return tableClient(table.tableName, new AzureSASCredential(token));
}

check("a stored policy gives what the signature leaves out", async (table) => {
  const accessPolicy = { start: hours(-1), expiry: hours(1), permission: "ra" };
  await table.setAccessPolicy([{ id: "mine", accessPolicy }]);
  const client = withPolicy(table, "mine");
  await client.createEntity(entity());
  assert.deepEqual(await rowKeys(client), ["r"]);
  await refused(client.updateEntity(entity("r", { a: 1 })), 403, permissionCode);
});

check(
  "a signature ends with its policy",
  async (table) => {
    const accessPolicy = { start: hours(-1), expiry: hours(1), permission: "r" };
    await table.setAccessPolicy([{ id: "mine", accessPolicy }]);
    const client = withPolicy(table, "mine");
    assert.deepEqual(await rowKeys(client), []);
    await table.setAccessPolicy([]);
    await refused(rowKeys(client), 403, "AuthenticationFailed");
  },
  { azurite: "answers AuthorizationFailure" },
);

check("an account signature allows everything that it permits", async () => {
  const permissions = { query: true, write: true, delete: true, list: true, add: true, update: true };
  const options = { permissions };
  const client = serviceWith(options);
  const name = tableName();
  await client.createTable(name);
  const token = generateAccountSas(credential, { expiresOn: hours(1), ...options });
  const table = tableClient(name, new AzureSASCredential(token));
  await table.createEntity(entity("r", { a: 1 }));
  await table.updateEntity(entity("r", { a: 2 }));
  await table.submitTransaction([["create", entity("new")]]);
  assert.deepEqual(await rowKeys(table), ["new", "r"]);
  const found = await all(client.listTables({ queryOptions: { filter: `TableName eq '${name}'` } }));
  assert.deepEqual(found.map((one) => one.name), [name]);
  await client.deleteTable(name);
});

check("an account signature needs the permission to list tables", async () => {
  await refused(all(serviceWith({ permissions: { query: true } }).listTables()), 403, permissionCode);
});

check("an account signature needs the resource type of tables", async () => {
  const client = serviceWith({ permissions: { list: true }, resourceTypes: "o" });
  await refused(all(client.listTables()), 403, "AuthorizationResourceTypeMismatch");
});

check("an account signature needs the service of tables", async () => {
  const client = serviceWith({ permissions: { list: true }, services: { blob: true } });
  await refused(all(client.listTables()), 403, "AuthorizationServiceMismatch");
});

check(
  "an account signature that has expired is refused",
  async () => {
    await refused(all(serviceWith({ expiresOn: hours(-1) }).listTables()), 403, "AuthenticationFailed");
  },
  { azurite: "answers AuthorizationFailure" },
);
