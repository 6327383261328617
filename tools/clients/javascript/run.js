// Runs the official JavaScript client's checks against the endpoint of AZURE_STORAGE_CONNECTION_STRING.
// Arguments, if any, are words: only checks whose sentence has one of them run.

import { checks, hasTokens, isAzurite, service, tableClient, tableName } from "./suite.js";

const modules = [
  "tables",
  "entities",
  "types",
  "keys",
  "filters",
  "paging",
  "transactions",
  "refusals",
  "metadata",
  "service_document",
  "access_policies",
  "signatures",
  "connections",
];
// The modules of checks that sign with the key of the account.
const withKeys = ["access_policies", "signatures", "connections"];

async function run(check) {
  if (check.run.length === 0) {
    return check.run();
  }
  const name = tableName();
  await service.createTable(name);
  try {
    await check.run(tableClient(name));
  } finally {
    await service.deleteTable(name);
  }
}

/** Why a check failed, or nothing. */
async function outcome(check) {
  const expected = isAzurite && check.azurite;
  try {
    await run(check);
  } catch (error) {
    return expected ? undefined : error;
  }
  return expected ? `passes on Azurite, though it is marked: ${expected}` : undefined;
}

const chosenModules = hasTokens ? [...modules.filter((name) => !withKeys.includes(name)), "tokens"] : modules;
for (const name of chosenModules) {
  await import(`./checks/${name}.js`);
}
const words = process.argv.slice(2);
const chosen = checks.filter(({ sentence }) => !words.length || words.some((word) => sentence.includes(word)));
const failed = [];
for (const check of chosen) {
  const reason = await outcome(check);
  const note = isAzurite && check.azurite ? ` (Azurite: ${check.azurite})` : "";
  console.log(`${reason ? "FAILED" : "ok"}: ${check.sentence}${note}`);
  if (reason) {
    failed.push([check.sentence, reason]);
  }
}
for (const [sentence, reason] of failed) {
  console.log(`\n${sentence}\n${reason.stack ?? reason}`);
}
if (failed.length || !chosen.length) {
  console.log(`javascript client: ${failed.length} of ${chosen.length} checks failed`);
  process.exitCode = 1;
} else {
  console.log(`javascript client: ${chosen.length} checks passed`);
}
