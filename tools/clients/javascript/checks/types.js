// The eight Edm types and their extremes.

import { assert, check, checkEach, entity, full, refused, rowKeys } from "../suite.js";

/** What comes back with the types that the service tells, where it tells them. */
async function stored(table, value) {
  await table.createEntity(entity("r", { v: value }));
  const { v } = await table.getEntity("p", "r", { ...full, disableTypeConversion: true });
  return v;
}

const int64 = {
  "the smallest": -(2n ** 63n),
  "the largest": 2n ** 63n - 1n,
  "one beyond what a Double holds": 2n ** 53n + 1n,
  zero: 0n,
};

checkEach("an Int64 comes back", int64, async (number, table) => {
  await table.createEntity(entity("r", { v: number }));
  assert.equal((await table.getEntity("p", "r")).v, number);
});

check("an Int64 may be given as text", async (table) => {
  const value = { type: "Int64", value: "9223372036854775807" };
  assert.deepEqual(await stored(table, value), value);
});

checkEach("an Int32 comes back", { smallest: -(2 ** 31), largest: 2 ** 31 - 1, zero: 0 }, async (number, table) => {
  assert.deepEqual(await stored(table, number), { type: "Int32", value: String(number) });
  assert.deepEqual(await rowKeys(table, `v eq ${number}`), ["r"]);
});

const doubles = {
  "five, whole": [5, "5.0"],
  "the largest": [Number.MAX_VALUE, "1.7976931348623157e308"],
  "the smallest": [Number.MIN_VALUE, "5e-324"],
  "the smallest that is normal": [2.2250738585072014e-308, "2.2250738585072014e-308"],
  "one with all digits": [0.1 + 0.2, "0.30000000000000004"],
};

checkEach(
  "a Double comes back and is found as one",
  doubles,
  async ([number, literal], table) => {
    await table.createEntity(entity("r", { v: { type: "Double", value: number } }));
    assert.equal((await table.getEntity("p", "r")).v, number);
    assert.deepEqual(await rowKeys(table, `v eq ${literal}`), ["r"]);
  },
  {
    azurite: {
      "the largest": "knows no exponent in a literal",
      "the smallest": "knows no exponent in a literal",
      "the smallest that is normal": "knows no exponent in a literal",
    },
  },
);

checkEach("a Double that is written as a word comes back", { a: "NaN", b: "Infinity", c: "-Infinity" }, async (word, table) => {
  const value = { type: "Double", value: word };
  assert.deepEqual(await stored(table, value), value);
});

check("a number with a fraction is a Double without being told", async (table) => {
  await table.createEntity(entity("r", { v: 2.5 }));
  assert.deepEqual(await rowKeys(table, "v eq 2.5"), ["r"]);
});

check("minus zero is a Double that equals zero", async (table) => {
  // Whether the service keeps the sign is not settled by any source.
  await table.createEntity(entity("r", { v: { type: "Double", value: -0.0 } }));
  assert.ok((await table.getEntity("p", "r")).v === 0);
});

const dateTimes = {
  "the first": "1601-01-01T00:00:00Z",
  "the first with a tick": "1601-01-01T00:00:00.0000001Z",
  "the last": "9999-12-31T23:59:59.9999999Z",
  "seven digits": "2024-02-29T12:34:56.1234567Z",
};

checkEach("a DateTime comes back to the tick", dateTimes, async (value, table) => {
  assert.deepEqual(await stored(table, { type: "DateTime", value }), { type: "DateTime", value });
});

check("a Date comes back", async (table) => {
  const date = new Date("2024-02-29T12:34:56.789Z");
  await table.createEntity(entity("r", { v: date }));
  assert.deepEqual((await table.getEntity("p", "r")).v, date);
});

const strings = {
  empty: "",
  "quotes and a backslash": "it's \"C:\\new\"",
  "line ends and tabs": "a\r\nb\tc",
  "control characters": "\u0000\u0001\u001f\u007f",
  "what is not ASCII": "Größe 名前 עברית",
  "what is beyond the first plane": "\u{1f600}\u{1f9d1}\u200d\u{1f680}",
  markup: "<a href='x'>&amp;</a>",
  "64 KiB": "x".repeat(32768),
  "64 KiB beyond the first plane": "\u{1f600}".repeat(16384),
};

checkEach("a string comes back", strings, async (value, table) => {
  assert.deepEqual(await stored(table, value), { type: "String", value });
}, {
  azurite: { "64 KiB beyond the first plane": "breaks a character that two chunks of a body share" },
});

const binaries = {
  empty: new Uint8Array(0),
  "every byte": Uint8Array.from({ length: 256 }, (_, index) => index),
  "64 KiB": new Uint8Array(65536).fill(7),
};

checkEach("Binary comes back", binaries, async (bytes, table) => {
  await table.createEntity(entity("r", { v: bytes }));
  assert.deepEqual(Buffer.from((await table.getEntity("p", "r")).v), Buffer.from(bytes));
});

check("a Guid comes back", async (table) => {
  const value = { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" };
  assert.deepEqual(await stored(table, value), value);
  assert.deepEqual(await rowKeys(table, `v eq guid'${value.value}'`), ["r"]);
});

checkEach("a Boolean comes back", { true: true, false: false }, async (value, table) => {
  await table.createEntity(entity("r", { v: value }));
  assert.equal((await table.getEntity("p", "r")).v, value);
});

check("all types stay what they are in a query", async (table) => {
  const one = entity("r", {
    binary: { type: "Binary", value: "AQI=" },
    boolean: true,
    dateTime: { type: "DateTime", value: "2024-02-29T12:00:00.1234567Z" },
    double: { type: "Double", value: 2.5 },
    guid: { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" },
    int32: 5,
    int64: { type: "Int64", value: "5" },
    string: "5",
  });
  await table.createEntity(one);
  const { value } = await table.listEntities({ disableTypeConversion: true }).next();
  const told = { boolean: "true", double: "2.5", int32: "5", string: "5" };
  for (const [name, text] of Object.entries(told)) {
    assert.equal(value[name].value, text);
  }
  for (const name of ["binary", "dateTime", "guid", "int64"]) {
    assert.deepEqual(value[name], one[name]);
  }
});

check(
  "a DateTime before 1601 is refused",
  async (table) => {
    const value = { type: "DateTime", value: "0001-01-01T00:00:00Z" };
    await refused(table.createEntity(entity("r", { value })), 400, "OutOfRangeInput");
  },
  { azurite: "takes any year" },
);

check(
  "an Int64 that is too large is refused",
  async (table) => {
    const value = { type: "Int64", value: "9223372036854775808" };
    await refused(table.createEntity(entity("r", { value })), 400, "InvalidInput");
  },
  { azurite: "stores the text" },
);

check(
  "an Int32 that is too large is refused",
  async (table) => {
    const value = { type: "Int32", value: 2147483648 };
    await refused(table.createEntity(entity("r", { value })), 400, "InvalidInput");
  },
  { azurite: "stores it" },
);
