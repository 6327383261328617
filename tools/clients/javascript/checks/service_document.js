// Service properties and statistics.

import { TableServiceClient } from "@azure/data-tables";

import { assert, check, clientOptions, credential, refused, service, url } from "../suite.js";

/** A check that leaves the properties of the account as they were. */
function checkRestoring(sentence, run, options) {
  const restoring = async () => {
    const { logging, hourMetrics, minuteMetrics, cors = [] } = await service.getProperties();
    try {
      await run();
    } finally {
      await service.setProperties({ logging, hourMetrics, minuteMetrics, cors });
    }
  };
  check(sentence, restoring, options);
}

const off = { enabled: false };

/** The properties without what is undefined. */
const properties = async () => JSON.parse(JSON.stringify(await service.getProperties()));

check("properties have logging and metrics", async () => {
  const { logging, hourMetrics, minuteMetrics } = await service.getProperties();
  assert.deepEqual([logging.version, hourMetrics.version, minuteMetrics.version], ["1.0", "1.0", "1.0"]);
});

checkRestoring("logging comes back", async () => {
  const retentionPolicy = { enabled: true, days: 5 };
  const logging = { version: "1.0", read: true, write: false, delete: true, retentionPolicy };
  await service.setProperties({ logging });
  assert.deepEqual((await properties()).logging, logging);
});

checkRestoring("metrics come back", async () => {
  const hourMetrics = { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy: { enabled: true, days: 7 } };
  const minuteMetrics = { version: "1.0", enabled: false, retentionPolicy: off };
  await service.setProperties({ hourMetrics, minuteMetrics });
  const found = await properties();
  assert.deepEqual(found.hourMetrics, hourMetrics);
  assert.deepEqual(found.minuteMetrics, minuteMetrics);
});

checkRestoring("CORS rules come back", async () => {
  const rule = (origin) => ({
    allowedOrigins: origin,
    allowedMethods: "GET,PUT",
    allowedHeaders: "x-ms-meta-*",
    exposedHeaders: "*",
    maxAgeInSeconds: 500,
  });
  const cors = [rule("https://www.example.com"), rule("https://other.example.com")];
  await service.setProperties({ cors });
  assert.deepEqual((await properties()).cors, cors);
});

checkRestoring("what is not named stays as it is", async () => {
  const logging = { version: "1.0", read: true, write: true, delete: false, retentionPolicy: off };
  await service.setProperties({ logging });
  await service.setProperties({ hourMetrics: { version: "1.0", enabled: false, retentionPolicy: off } });
  assert.deepEqual((await properties()).logging, logging);
});

check("statistics are those of the secondary", async () => {
  // The client finds a secondary by its host name, and this account's is in the path: it is named.
  const secondary = new TableServiceClient(`${url}-secondary`, credential, { ...clientOptions });
  const { geoReplication } = await secondary.getStatistics();
  assert.equal(geoReplication.status, "live");
  assert.ok(Math.abs(Date.now() - geoReplication.lastSyncTime) < 86_400_000, geoReplication.lastSyncTime);
});

check("the primary has no statistics", async () => {
  await refused(service.getStatistics(), 400, "InvalidQueryParameterValue");
});
