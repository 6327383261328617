// Tables: create, delete, list.

import { odata } from "@azure/data-tables";

import { all, assert, check, entity, refused, rowKeys, service, tableClient, tableName } from "../suite.js";

const named = async (filter) => {
  const found = await all(service.listTables({ queryOptions: { filter } }));
  return found.map(({ name }) => name);
};

const withTables = async (names, run) => {
  for (const name of names) {
    await service.createTable(name);
  }
  try {
    await run();
  } finally {
    for (const name of names) {
      await service.deleteTable(name);
    }
  }
};

check("a created table is listed until it is deleted", async () => {
  const name = tableName();
  await service.createTable(name);
  assert.deepEqual(await named(odata`TableName eq ${name}`), [name]);
  await service.deleteTable(name);
  assert.deepEqual(await named(odata`TableName eq ${name}`), []);
});

check("creating a table that exists is told as 409, which the client takes for done", async (table) => {
  await table.createEntity(entity());
  let status;
  await table.createTable({ onResponse: (response) => (status = response.status) });
  assert.equal(status, 409);
  assert.deepEqual(await rowKeys(table), ["r"]);
});

check("deleting a table that is missing is told as 404, which the client takes for done", async () => {
  let status;
  await service.deleteTable(tableName(), { onResponse: (response) => (status = response.status) });
  assert.equal(status, 404);
});

check("a table client creates and deletes its table", async () => {
  const table = tableClient(tableName());
  await table.createTable();
  await table.createEntity(entity());
  await table.deleteTable();
  await refused(table.getEntity("p", "r"), 404, "TableNotFound", "The table specified does not exist");
});

check(
  "names of tables have no case but keep theirs",
  async () => {
    const name = `Js${tableName()}`;
    await withTables([name], async () => {
      await tableClient(name.toLowerCase()).createEntity(entity());
      assert.deepEqual(await rowKeys(tableClient(name.toUpperCase())), ["r"]);
      assert.deepEqual(await named(odata`TableName eq ${name}`), [name]);
    });
  },
  { azurite: "tells tables apart by the case of their names" },
);

check("tables come in pages that a token continues", async () => {
  const prefix = tableName();
  const names = [0, 1, 2, 3, 4].map((number) => `${prefix}${number}`);
  await withTables(names, async () => {
    const options = { queryOptions: { filter: odata`TableName ge ${prefix} and TableName lt ${`${prefix}9`}` } };
    const pages = await all(service.listTables(options).byPage({ maxPageSize: 2 }));
    assert.deepEqual(
      pages.map((page) => page.map(({ name }) => name)),
      [names.slice(0, 2), names.slice(2, 4), names.slice(4)],
    );
    const { continuationToken } = pages[0];
    const rest = await all(service.listTables(options).byPage({ maxPageSize: 2, continuationToken }));
    assert.deepEqual(
      rest.flat().map(({ name }) => name),
      names.slice(2),
    );
  });
});

check("all tables are listed without a filter", async (table) => {
  assert.ok((await named()).includes(table.tableName));
});

check(
  "a name with a hyphen is refused",
  async () => {
    const text = "The specifed resource name contains invalid characters.";
    await refused(service.createTable("my-table"), 400, "InvalidResourceName", text);
  },
  { azurite: "spells the message another way" },
);

check(
  "a name of two letters is refused",
  async () => {
    const text = "The specified resource name length is not within the permissible limits.";
    await refused(service.createTable("ab"), 400, "OutOfRangeInput", text);
  },
  { azurite: "has another code" },
);
