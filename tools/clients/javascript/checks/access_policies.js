// Stored access policies of a table (its ACL).

import { assert, check, tableClient, tableName } from "../suite.js";

const start = new Date("2024-01-01T12:30:15Z");
const expiry = new Date("2024-01-02T12:30:15Z");
const policy = (id) => ({ id, accessPolicy: { start, expiry, permission: "raud" } });
/** The policies without what is undefined. */
const policies = async (table) =>
  [...(await table.getAccessPolicy())].map(({ id, accessPolicy }) => {
    const parts = Object.entries(accessPolicy).filter(([, value]) => value !== undefined);
    return { id, accessPolicy: Object.fromEntries(parts) };
  });

check("a new table has no policies", async (table) => {
  assert.deepEqual(await policies(table), []);
});

check("policies come back in their order", async (table) => {
  const five = ["e", "d", "c", "b", "a"].map(policy);
  await table.setAccessPolicy(five);
  assert.deepEqual(await policies(table), five);
});

check(
  "a policy may lack its parts",
  async (table) => {
    const some = [{ id: "permission", accessPolicy: { permission: "r" } }, { id: "expiry", accessPolicy: { expiry } }];
    await table.setAccessPolicy(some);
    assert.deepEqual(await policies(table), some);
  },
  { azurite: "refuses it" },
);

check("setting policies replaces all earlier ones", async (table) => {
  await table.setAccessPolicy([policy("a"), policy("b")]);
  await table.setAccessPolicy([policy("c")]);
  assert.deepEqual(await policies(table), [policy("c")]);
  await table.setAccessPolicy([]);
  assert.deepEqual(await policies(table), []);
});

check("six policies are refused", async (table) => {
  const six = ["a", "b", "c", "d", "e", "f"].map(policy);
  await assert.rejects(table.setAccessPolicy(six), { statusCode: 400 });
  assert.deepEqual(await policies(table), []);
});

check("a missing table has no policies", async () => {
  const table = tableClient(tableName());
  await assert.rejects(table.getAccessPolicy(), { statusCode: 404 });
  await assert.rejects(table.setAccessPolicy([policy("a")]), { statusCode: 404 });
});
