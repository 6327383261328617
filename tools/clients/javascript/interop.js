// Reads and writes the rows of interop/cases.json with the official JavaScript client.
//
// Arguments: `read` or `write`, and the table. What the client does otherwise than the case says stands in
// the case under `javascript`: `typed` and `plain` are what it reads with and without types, `writes` and
// `plain_writes` what values with and without a type are stored as.

import { readFileSync } from "node:fs";

import { all, assert, full, isAzurite, tableClient } from "./suite.js";

const cases = [...JSON.parse(readFileSync(new URL("../interop/cases.json", import.meta.url), "utf8")).entries()].filter(
  ([, one]) => !(isAzurite && one.azurite),
);

/** A value of the file, which states long ones by what they repeat. */
function whole(value) {
  return typeof value === "object" ? value.repeat.repeat(value.times) : value;
}

function keyOf(index, { partition_key = "interop", row_key = String(index).padStart(3, "0") }) {
  return [whole(partition_key), whole(row_key)];
}

function ofBits(hex) {
  return Buffer.from(hex, "hex").readDoubleBE();
}

function bits(number) {
  const buffer = Buffer.alloc(8);
  buffer.writeDoubleBE(number);
  return buffer.toString("hex");
}

/** The value with its type, so that nothing is left for the client to guess. */
function exact({ type, value, text }) {
  value = whole(value);
  if (type === "Binary") {
    return { type, value: Buffer.from(value, "hex").toString("base64") };
  }
  if (type === "Double") {
    // No number of JSON is any of these.
    const words = { inf: "Infinity", "-inf": "-Infinity", nan: "NaN" };
    return { type, value: words[text] ?? ofBits(value) };
  }
  return { type, value };
}

/** The value as a JavaScript program has it. */
function plain({ type, value }) {
  value = whole(value);
  switch (type) {
    case "Binary":
      return new Uint8Array(Buffer.from(value, "hex"));
    case "Double":
      return ofBits(value);
    case "Int64":
      return BigInt(value);
    case "DateTime":
      return new Date(value);
    case "Guid":
      return { type, value };
    default:
      return value;
  }
}

/** A value that was read without types, as the file writes it. */
function told(value) {
  if (typeof value === "number") {
    return { number: bits(value) };
  }
  if (typeof value === "bigint") {
    return { type: "Int64", value: String(value) };
  }
  if (value instanceof Date) {
    return { type: "DateTime", value: padded(value.toISOString()) };
  }
  if (value instanceof Uint8Array) {
    return { type: "Binary", value: Buffer.from(value).toString("hex") };
  }
  return value;
}

/** What `told` makes of the value of a case, if the client does as the case says. */
function toldOf({ type, value }) {
  value = whole(value);
  switch (type) {
    case "Int32":
      return { number: bits(value) };
    case "Double":
      return { number: value };
    case "String":
    case "Boolean":
      return value;
    default:
      return { type, value };
  }
}

/** A time with all seven digits, of which zeros at the end are left out on the wire. */
function padded(text) {
  const [seconds, fraction = ""] = text.replace(/Z$/, "").split(".");
  return `${seconds}.${fraction.padEnd(7, "0")}Z`;
}

function typedOf(one) {
  const { type, value } = exact(one);
  // Whatever came as a number, a boolean or a string is given as text.
  return { type, value: String(value) };
}

async function read(table) {
  const entities = await all(table.listEntities());
  assert.equal(entities.length, cases.length);
  const pages = new Map(entities.map((entity) => [JSON.stringify([entity.partitionKey, entity.rowKey]), entity]));
  return async (one, index) => {
    const key = keyOf(index, one);
    const { property = "Value", javascript = {} } = one;
    for (const entity of [pages.get(JSON.stringify(key)), await table.getEntity(...key)]) {
      assert.deepEqual(told(entity[property]), javascript.plain ?? toldOf(one));
    }
    const typed = (await table.getEntity(...key, { ...full, disableTypeConversion: true }))[property];
    if (one.type === "DateTime") {
      typed.value = padded(typed.value);
    }
    assert.deepEqual(typed, javascript.typed ?? typedOf(one));
  };
}

function write(table) {
  return async (one, index) => {
    const [partitionKey, rowKey] = keyOf(index, one);
    const { property = "Value", javascript = {} } = one;
    await table.createEntity({ partitionKey, rowKey, [property]: exact(one) });
    const entity = { partitionKey, rowKey, Plain: plain(one) };
    await table.upsertEntity(entity, "Merge");
  };
}

const [action, name] = process.argv.slice(2);
const check = await { read, write }[action](tableClient(name));
let failed = 0;
for (const [index, one] of cases) {
  try {
    await check(one, index);
  } catch (error) {
    failed += 1;
    console.log(`${one.name}: ${error.message.slice(0, 400)}`);
  }
}
console.log(`javascript client: ${action} ${cases.length - failed} of ${cases.length} cases`);
process.exitCode = failed ? 1 : 0;
