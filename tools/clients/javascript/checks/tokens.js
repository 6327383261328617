// Tokens of Entra ID. They run with AZURE_TABLE_TESTS_CREDENTIAL=token.

import { all, assert, check, checkEach, clientOptions, entity, refused, service, tableClient, tokens, url } from "../suite.js";
import { TableServiceClient } from "@azure/data-tables";

check("the client asks for a token of the storage service", async (table) => {
  const own = tokens();
  await tableClient(table.tableName, own).createEntity(entity());
  assert.deepEqual([...own.scopes], ["https://storage.azure.com/.default"]);
});

const now = Math.floor(Date.now() / 1000);
checkEach(
  "a token is refused",
  {
    "another audience": { aud: "https://vault.azure.net" },
    "another issuer": { iss: "https://example.com/" },
    "the past": { exp: now - 60 },
    "the future": { nbf: now + 600 },
  },
  async (claims) => {
    const other = new TableServiceClient(url, tokens(claims), clientOptions);
    await refused(all(other.listTables()), 401, "InvalidAuthenticationInfo");
    await all(service.listTables());
  },
);
