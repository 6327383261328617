// Levels of metadata, and the headers of requests and answers.

import { all, assert, account, check, entity, full, none, url } from "../suite.js";

check(
  "full metadata have the type, the id and the link",
  async (table) => {
    await table.createEntity(entity("é", { a: 1 }, "p'q"));
    const found = await table.getEntity("p'q", "é", full);
    const link = `${table.tableName}(PartitionKey='p''q',RowKey='%C3%A9')`;
    assert.equal(found["odata.type"], `${account}.${table.tableName}`);
    assert.equal(found["odata.editLink"], link);
    assert.equal(found["odata.id"], `${url}/${link}`);
  },
  { azurite: "neither doubles quotes nor encodes keys" },
);

check("without metadata types and ETags are lost", async (table) => {
  await table.createEntity(entity("r", { long: 5n }));
  const found = await table.getEntity("p", "r", none);
  assert.deepEqual([found.long, found.etag, found["odata.metadata"]], ["5", undefined, undefined]);
  const [listed] = await all(table.listEntities(none));
  assert.deepEqual([listed.long, listed.etag], ["5", undefined]);
});

check("a read has an ETag and the time of the write", async (table) => {
  const { etag, date } = await table.createEntity(entity());
  const found = await table.getEntity("p", "r");
  assert.equal(found.etag, etag);
  assert.ok(Math.abs(new Date(found.timestamp) - new Date(date)) < 60_000, found.timestamp);
});

check("the ETag is the Timestamp", async (table) => {
  const { etag } = await table.createEntity(entity());
  const { timestamp } = await table.getEntity("p", "r");
  assert.equal(etag, `W/"datetime'${encodeURIComponent(timestamp)}'"`);
});

check("every answer has an id of its own", async (table) => {
  const ids = new Set();
  for (let number = 0; number < 3; number += 1) {
    ids.add((await table.upsertEntity(entity("r", { number }))).requestId);
  }
  assert.equal(ids.size, 3);
  assert.ok(!ids.has(undefined));
});

check(
  "the version that was asked for is told",
  async (table) => {
    const { version } = await table.upsertEntity(entity());
    assert.equal(version, "2019-02-02");
  },
  { azurite: "tells a version of its own" },
);

check("an id of the client does not disturb", async (table) => {
  const answer = await table.upsertEntity(entity(), "Merge", {
    requestOptions: { customHeaders: { "x-ms-client-request-id": "mine" } },
  });
  assert.equal(answer.clientRequestId ?? "mine", "mine");
});

check(
  "metadata of a query name the table",
  async (table) => {
    let body;
    await all(table.listEntities({ onResponse: (response) => (body = JSON.parse(response.bodyAsText)) }));
    assert.deepEqual(body, { "odata.metadata": `${url}/$metadata#${table.tableName}`, value: [] });
  },
  { azurite: "names the metadata of tables" },
);
