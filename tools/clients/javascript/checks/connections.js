// Connection strings and credentials.

import { AzureNamedKeyCredential, TableClient, TableServiceClient, generateAccountSas } from "@azure/data-tables";

import { account, accountKey, assert, check, clientOptions, credential, entity, refused, rowKeys, tableClient, url } from "../suite.js";

const wrong = Buffer.from("wrong").toString("base64");
const protocol = url?.split(":")[0];

check("a connection string has the key", async (table) => {
  const text = `DefaultEndpointsProtocol=${protocol};AccountName=${account};AccountKey=${accountKey};TableEndpoint=${url}`;
  const client = TableClient.fromConnectionString(text, table.tableName, { ...clientOptions });
  await client.createEntity(entity());
  assert.deepEqual(await rowKeys(table), ["r"]);
});

check("a connection string has a signature", async (table) => {
  const permissions = { query: true, add: true };
  const text = `TableEndpoint=${url};SharedAccessSignature=${generateAccountSas(credential, { permissions })}`;
  const client = TableClient.fromConnectionString(text, table.tableName, { ...clientOptions });
  await client.createEntity(entity());
  assert.deepEqual(await rowKeys(client), ["r"]);
});

check("a connection string without an account is refused by the client", async () => {
  assert.throws(() => TableServiceClient.fromConnectionString("DefaultEndpointsProtocol=https"));
});

check("plain HTTP has to be allowed", async (table) => {
  const client = new TableClient(url, table.tableName, credential, { retryOptions: { maxRetries: 0 } });
  if (protocol === "https") {
    return assert.deepEqual(await rowKeys(client), []);
  }
  await assert.rejects(rowKeys(client), /allowInsecureConnection/);
});

check(
  "a wrong key is refused",
  async (table) => {
    const client = tableClient(table.tableName, new AzureNamedKeyCredential(account, wrong));
    await refused(rowKeys(client), 403, "AuthenticationFailed", "Server failed to authenticate");
    await refused(client.createEntity(entity()), 403, "AuthenticationFailed");
    await refused(client.submitTransaction([["create", entity()]]), 403, "AuthenticationFailed");
    assert.deepEqual(await rowKeys(table), []);
  },
  { azurite: "answers AuthorizationFailure" },
);

check("a credential takes another key while it is used", async (table) => {
  const changing = new AzureNamedKeyCredential(account, wrong);
  const client = tableClient(table.tableName, changing);
  await assert.rejects(rowKeys(client), { statusCode: 403 });
  changing.update(account, accountKey);
  assert.deepEqual(await rowKeys(client), []);
});
