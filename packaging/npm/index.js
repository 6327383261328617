// Starts and stops the emulator from Node.js.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const DEVELOPMENT_ACCOUNT = "devstoreaccount1";
const DEVELOPMENT_KEY =
  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const READY = /^azure-table-emulator listening on (\S+)$/;

/** The path of the program, from the optional package for this platform. */
export function binaryPath() {
  const name = `azure-table-emulator-${process.platform}-${process.arch}`;
  const file = process.platform === "win32" ? "azure-table-emulator.exe" : "azure-table-emulator";
  try {
    return createRequire(import.meta.url).resolve(`${name}/${file}`);
  } catch {
    throw new Error(
      `the package ${name} is not installed: optional dependencies are off, or the platform has no build`,
    );
  }
}

/** Starts the emulator, and resolves once it accepts requests. */
export async function start({
  account = DEVELOPMENT_ACCOUNT,
  key = DEVELOPMENT_KEY,
  port = 0,
  data,
  controlToken,
  args = [],
  env = {},
  timeout = 30_000,
} = {}) {
  // Without the emulator's own variables, only the options count.
  const others = Object.entries(process.env).filter(([name]) => !/^(AZURE_TABLE_EMULATOR_|AZURITE_)/.test(name));
  const child = spawn(binaryPath(), ["--port", `${port}`, ...(data === undefined ? [] : ["--data", data]), ...args], {
    env: {
      ...Object.fromEntries(others),
      AZURE_TABLE_EMULATOR_ACCOUNTS: `${account}:${key}`,
      // Not set if it is undefined.
      AZURE_TABLE_EMULATOR_CONTROL_TOKEN: controlToken,
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  // Without stop(), the emulator ends together with this process.
  const kill = () => child.kill();
  process.once("exit", kill);
  const ended = once(child, "close").finally(() => process.off("exit", kill));
  const url = await ready(child, ended, timeout);
  for (const handle of [child, child.stdout, child.stderr]) {
    handle.unref();
  }

  const control = (path, parameters, content) => post(url, path, { ...parameters, account }, content, controlToken);
  const protocol = new URL(url).protocol.slice(0, -1);
  return {
    url,
    account,
    key,
    connectionString:
      `DefaultEndpointsProtocol=${protocol};AccountName=${account};AccountKey=${key};TableEndpoint=${url};`,
    seed: (rows, { table } = {}) => control("seed", { table }, rows),
    reset: ({ table, faults, requests } = {}) =>
      control("reset", { table, faults: faults && 1, requests: requests && 1 }),
    fault: (plan) => control("faults", {}, plan),
    clock: (change) => control("clock", {}, change),
    async stop() {
      child.ref();
      child.kill();
      await ended;
    },
  };
}

/** The address that the emulator prints once it accepts requests. An emulator that does not start is ended. */
function ready(child, ended, timeout) {
  let [errors, late] = ["", false];
  child.stderr.setEncoding("utf8").on("data", (text) => {
    errors = (errors + text).slice(-10_000);
    process.stderr.write(text);
  });
  const timer = setTimeout(() => {
    late = true;
    child.kill("SIGKILL");
  }, timeout);
  const address = new Promise((resolve) => {
    createInterface(child.stdout).on("line", (line) => READY.test(line) && resolve(READY.exec(line)[1]));
  });
  const failed = ended.then(([code]) => {
    const reason = late ? `did not start in ${timeout} ms` : `ended with code ${code}: ${errors.trim()}`;
    throw new Error(`azure-table-emulator ${reason}`);
  });
  return Promise.race([address, failed]).finally(() => clearTimeout(timer));
}

/** Sends a POST request to the control API. */
async function post(base, path, parameters, content, token) {
  const url = new URL(`/-/${path}`, base);
  for (const [name, value] of Object.entries(parameters)) {
    if (value) {
      url.searchParams.set(name, value);
    }
  }
  const headers = { "Content-Type": "application/json" };
  if (token !== undefined) {
    headers.Authorization = `Bearer ${token}`;
  }
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(content) });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`azure-table-emulator refuses ${path}: ${reason(text)}`);
  }
}

/** The reason in the body of a refusal, which is JSON or text. */
function reason(text) {
  try {
    return JSON.parse(text).error;
  } catch {
    return text.trim();
  }
}
