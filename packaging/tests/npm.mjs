// Tests of the npm packages, run in the folder where both are installed.

import { strict as assert } from "node:assert";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { binaryPath, start } from "azure-table-emulator";

const { TableClient } = createRequire(`${process.env.CLIENTS}/`)("@azure/data-tables");

function tableOf(emulator) {
  return TableClient.fromConnectionString(emulator.connectionString, "Orders", { allowInsecureConnection: true });
}

test("the official client uses an emulator that a program starts and stops", async () => {
  const emulator = await start();
  const table = tableOf(emulator);
  await table.createTable();
  await table.createEntity({ partitionKey: "2026", rowKey: "1", total: 5 });
  assert.equal((await table.getEntity("2026", "1")).total, 5);
  await emulator.stop();
  await assert.rejects(fetch(emulator.url));
});

test("a program fills and empties the tables, injects faults and sets the clock", async () => {
  const emulator = await start({ account: "mine", key: "c2VjcmV0", controlToken: "secret" });
  assert.equal((await fetch(new URL("/-/export", emulator.url))).status, 401);
  const row = { PartitionKey: "2026", RowKey: "1", total: 5 };
  await emulator.seed({ Orders: [row] });
  await emulator.seed(row, { table: "Others" });
  await emulator.clock({ freeze: "2030-01-02T03:04:05Z" });
  const table = tableOf(emulator);
  assert.equal((await table.getEntity("2026", "1")).total, 5);
  await table.upsertEntity({ partitionKey: "2026", rowKey: "2" });
  assert.match((await table.getEntity("2026", "2")).timestamp, /^2030-01-02T03:04:05/);
  await emulator.fault({ fault: "error", status: 400, code: "Chosen", times: 1 });
  await assert.rejects(table.getEntity("2026", "1"), /Chosen/);
  await emulator.reset({ table: "Others" });
  assert.equal((await table.getEntity("2026", "1")).total, 5);
  await emulator.reset({ faults: true, requests: true });
  await assert.rejects(table.getEntity("2026", "1"), /TableNotFound/);
  await assert.rejects(emulator.fault({ fault: "none" }), /refuses faults: .*none/);
  await emulator.stop();
});

test("options decide about the account and the data, and variables of the emulator do not", async () => {
  process.env.AZURE_TABLE_EMULATOR_ACCOUNT = "other";
  process.env.AZURE_TABLE_EMULATOR_PORT = "x";
  const options = { account: "mine", key: "c2VjcmV0", data: mkdtempSync(join(tmpdir(), "azure-table-emulator-")) };
  const first = await start(options);
  assert.match(first.url, /\/mine$/);
  await tableOf(first).createTable();
  await first.stop();
  const second = await start(options);
  await tableOf(second).createEntity({ partitionKey: "2026", rowKey: "1" });
  await second.stop();
  delete process.env.AZURE_TABLE_EMULATOR_ACCOUNT;
  delete process.env.AZURE_TABLE_EMULATOR_PORT;
});

test("a failed start has the emulator's message, or states the time", async () => {
  await assert.rejects(start({ args: ["--prot"] }), /ended with code 2: .*unknown option --prot/);
  // Reading a pipe that nobody writes to never ends.
  const pipe = join(mkdtempSync(join(tmpdir(), "azure-table-emulator-")), "faults");
  execFileSync("mkfifo", [pipe]);
  await assert.rejects(start({ args: ["--faults", pipe], timeout: 100 }), /did not start in 100 ms/);
});

test("a program that forgets to stop the emulator ends, and the emulator with it", async () => {
  const code = 'import("azure-table-emulator").then(async ({ start }) => console.log((await start()).url))';
  const url = execFileSync(process.execPath, ["-e", code], { encoding: "utf8", timeout: 10_000 }).trim();
  assert.match(url, /^http:/);
  for (let tries = 0; await fetch(url).then(() => true, () => false); tries += 1) {
    assert.ok(tries < 100, "the emulator still runs");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
});

test("the command has the arguments, the output and the exit code of the program", async () => {
  const command = join("node_modules", ".bin", "azure-table-emulator");
  const version = execFileSync(binaryPath(), ["--version"], { encoding: "utf8" });
  assert.equal(execFileSync(command, ["--version"], { encoding: "utf8" }), version);
  assert.throws(() => execFileSync(command, ["--prot"], { stdio: "pipe" }), { status: 2 });
  const running = spawn(command, ["--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  assert.match(String(await once(running.stdout, "data")), /^azure-table-emulator listening on /);
  running.kill("SIGTERM");
  assert.deepEqual(await once(running, "exit"), [0, null]);
});
