// Pages and the tokens that continue them.

import { all, assert, check, entity, refused } from "../suite.js";

async function fill(table, count) {
  const keys = Array.from({ length: count }, (_, index) => String(index).padStart(4, "0"));
  for (let start = 0; start < count; start += 100) {
    const chunk = keys.slice(start, start + 100);
    await table.submitTransaction(chunk.map((key) => ["create", entity(key, { n: Number(key) })]));
  }
  return keys;
}

const keysOf = (page) => page.map(({ rowKey }) => rowKey);

check("pages have the size that was asked for", async (table) => {
  const keys = await fill(table, 5);
  const pages = await all(table.listEntities().byPage({ maxPageSize: 2 }));
  assert.deepEqual(pages.map(keysOf), [keys.slice(0, 2), keys.slice(2, 4), keys.slice(4)]);
});

check("no page follows a last one that is full", async (table) => {
  await fill(table, 4);
  const pages = await all(table.listEntities().byPage({ maxPageSize: 2 }));
  assert.deepEqual(pages.map((page) => [page.length, Boolean(page.continuationToken)]), [
    [2, true],
    [2, false],
  ]);
});

check("a token continues in another query", async (table) => {
  const keys = await fill(table, 5);
  const { value: first } = await table.listEntities().byPage({ maxPageSize: 2 }).next();
  const { continuationToken } = first;
  const rest = await all(table.listEntities().byPage({ maxPageSize: 2, continuationToken }));
  assert.deepEqual(rest.map(keysOf), [keys.slice(2, 4), keys.slice(4)]);
});

check("a token continues where keys are odd", async (table) => {
  const keys = ["", " ", "%", "+&=", "it's", "é", "\u{1f600}"];
  for (const key of keys) {
    await table.createEntity(entity(key, {}, key));
  }
  const pages = await all(table.listEntities().byPage({ maxPageSize: 1 }));
  assert.deepEqual(pages.flatMap(keysOf), keys);
});

check("a filter holds on every page", async (table) => {
  const keys = await fill(table, 10);
  const options = { queryOptions: { filter: "n ge 3 and n ne 5" } };
  const pages = await all(table.listEntities(options).byPage({ maxPageSize: 3 }));
  assert.deepEqual(pages.flatMap(keysOf), [...keys.slice(3, 5), ...keys.slice(6)]);
});

check("a page has at most 1,000 entities", async (table) => {
  const keys = await fill(table, 1001);
  const pages = await all(table.listEntities().byPage());
  assert.deepEqual(pages.map(({ length }) => length), [1000, 1]);
  assert.deepEqual(pages.flatMap(keysOf), keys);
  assert.equal((await all(table.listEntities())).length, 1001);
});

check("an empty table has one empty page", async (table) => {
  const pages = await all(table.listEntities().byPage({ maxPageSize: 2 }));
  assert.deepEqual(pages.map(({ length }) => length), [0]);
});

check(
  "more than 1,000 a page is refused",
  async (table) => {
    const page = table.listEntities().byPage({ maxPageSize: 1001 }).next();
    await refused(page, 400, "InvalidInput");
  },
  { azurite: "takes it" },
);
