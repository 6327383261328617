// What the checks share: how they are named and registered, the endpoint, and how a refusal is told.

import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";

import { AzureNamedKeyCredential, TableClient, TableServiceClient } from "@azure/data-tables";

export { assert };

// With `token`, the clients sign in by a token of Entra ID that no authority has signed.
export const hasTokens = process.env.AZURE_TABLE_TESTS_CREDENTIAL === "token";
export const isAzurite = process.env.AZURE_TABLE_TESTS_SERVER === "azurite";
export const full = { requestOptions: { customHeaders: { Accept: "application/json;odata=fullmetadata" } } };
export const none = { requestOptions: { customHeaders: { Accept: "application/json;odata=nometadata" } } };
export const clientOptions = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };

const settings = Object.fromEntries(
  (process.env.AZURE_STORAGE_CONNECTION_STRING ?? "")
    .split(";")
    .filter(Boolean)
    .map((part) => [part.slice(0, part.indexOf("=")).toLowerCase(), part.slice(part.indexOf("=") + 1)]),
);

export const account = settings.accountname;
export const accountKey = settings.accountkey;
export const url = settings.tableendpoint?.replace(/\/$/, "");

/** A credential whose tokens have the claims of a valid one, except for those given. */
export function tokens(changed = {}) {
  const scopes = new Set();
  return {
    scopes,
    async getToken(scope) {
      [scope].flat().forEach((one) => scopes.add(one));
      const now = Math.floor(Date.now() / 1000);
      const claims = {
        aud: "https://storage.azure.com",
        iss: "https://sts.windows.net/00000000-0000-0000-0000-000000000000/",
        iat: now,
        nbf: now,
        exp: now + 3600,
        ...changed,
      };
      const parts = [{ alg: "none", typ: "JWT" }, claims].map((part) =>
        Buffer.from(JSON.stringify(part)).toString("base64url"),
      );
      return { token: [...parts, "none"].join("."), expiresOnTimestamp: (now + 3600) * 1000 };
    },
  };
}

export const credential = hasTokens ? tokens() : new AzureNamedKeyCredential(account, accountKey);
export const service = new TableServiceClient(url, credential, { ...clientOptions });

export const checks = [];

/**
 * Registers a check under its sentence. It gets a table of its own, unless it takes no argument.
 * `azurite` says what Azurite gets wrong: there the check has to fail.
 */
export function check(sentence, run, { azurite } = {}) {
  checks.push({ sentence, run, azurite });
}

/** Registers a check for each case, whose name ends the sentence and whose value is an argument. */
export function checkEach(sentence, cases, run, { azurite } = {}) {
  for (const [name, argument] of Object.entries(cases)) {
    const reason = typeof azurite === "object" ? azurite[name] : azurite;
    check(`${sentence}: ${name}`, (table) => run(argument, table), { azurite: reason });
  }
}

export function tableName() {
  return `js${randomUUID().replaceAll("-", "")}`;
}

export function tableClient(name, credentialOrOptions = credential) {
  return new TableClient(url, name, credentialOrOptions, { ...clientOptions });
}

export function entity(rowKey = "r", properties = {}, partitionKey = "p") {
  return { partitionKey, rowKey, ...properties };
}

/** An entity without what the service adds. */
export function own({ etag, timestamp, "odata.metadata": metadata, ...properties }) {
  return properties;
}

export async function all(pages) {
  const found = [];
  for await (const one of pages) {
    found.push(one);
  }
  return found;
}

export async function rowKeys(table, filter, select) {
  const found = await all(table.listEntities({ queryOptions: { filter, select } }));
  return found.map((one) => one.rowKey);
}

/** The code and the message that the service sent, in JSON or XML. */
export function told(error) {
  const sent = error.details?.odataError ?? error.response?.parsedBody?.odataError;
  const [, inXml] = /<(?:\w+:)?code>(\w+)</i.exec(error.response?.bodyAsText ?? "") ?? [];
  const code = sent?.code ?? error.code ?? inXml;
  const message = sent?.message?.value ?? sent?.message ?? error.message;
  return { status: error.statusCode, code, message: String(message) };
}

/** A promise that is refused with this status, error code and text of the service. */
export async function refused(promise, status, code, message = "") {
  const error = await promise.then(
    () => assert.fail(`no refusal instead of ${status} ${code}`),
    (error) => error,
  );
  if (error instanceof assert.AssertionError) {
    throw error;
  }
  const found = told(error);
  assert.deepEqual([found.status, found.code], [status, code], found.message);
  assert.ok(found.message.includes(message), `${found.message} says nothing of ${message}`);
  return { ...found, error };
}

/** A promise that is refused with 403, where no source tells which of its codes is sent. */
export async function forbidden(promise) {
  await assert.rejects(promise, (error) => {
    assert.equal(error.statusCode, 403, error.message);
    return true;
  });
}
