// Starts and stops the emulator from Node.js.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";

const DEVELOPMENT_ACCOUNT = "devstoreaccount1";
const DEVELOPMENT_KEY =
  "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const READY = /^azure-table-mock listening on (\S+)$/m;

/** The path of the program, from the optional package for this platform. */
export function binaryPath() {
  const name = `azure-table-mock-${process.platform}-${process.arch}`;
  const file = process.platform === "win32" ? "azure-table-mock.exe" : "azure-table-mock";
  try {
    return createRequire(import.meta.url).resolve(`${name}/${file}`);
  } catch {
    throw new Error(`the package ${name} is not installed: optional dependencies are off, or the platform has no build`);
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
  const options = ["--port", `${port}`, ...(data === undefined ? [] : ["--data", data]), ...args];
  const child = spawn(binaryPath(), options, {
    env: {
      ...environment(),
      AZURE_TABLE_MOCK_ACCOUNTS: `${account}:${key}`,
      ...(controlToken === undefined ? {} : { AZURE_TABLE_MOCK_CONTROL_TOKEN: controlToken }),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  // Without stop(), the emulator ends together with this process.
  const kill = () => child.kill();
  process.once("exit", kill);
  const ended = once(child, "close").finally(() => process.off("exit", kill));
  const url = await ready(child, ended, timeout).catch(async (error) => {
    child.kill("SIGKILL");
    await ended.catch(() => {});
    throw error;
  });
  for (const handle of [child, child.stdout, child.stderr]) {
    handle.unref();
  }
  return new Emulator(child, ended, url, account, key, controlToken);
}

class Emulator {
  #child;
  #ended;
  #controlToken;

  constructor(child, ended, url, account, key, controlToken) {
    this.#child = child;
    this.#ended = ended;
    this.#controlToken = controlToken;
    this.url = url;
    this.account = account;
    this.key = key;
    const protocol = new URL(url).protocol.slice(0, -1);
    this.connectionString =
      `DefaultEndpointsProtocol=${protocol};AccountName=${account};AccountKey=${key};TableEndpoint=${url};`;
  }

  /** Stores tables with their rows, or rows of one table. */
  async seed(rows, { table } = {}) {
    await this.#control("seed", { table }, rows);
  }

  /** Removes all tables, or one of them. */
  async reset({ table, faults, requests } = {}) {
    await this.#control("reset", { table, faults: faults && 1, requests: requests && 1 });
  }

  /** Adds a fault, an array of faults, or a plan with a seed. */
  async fault(plan) {
    await this.#control("faults", {}, plan);
  }

  /** Changes the clock of the service. */
  async clock(change) {
    await this.#control("clock", {}, change);
  }

  /** Sends a POST request to the control API. */
  async #control(path, options, content) {
    const url = new URL(`/-/${path}`, this.url);
    for (const [name, value] of Object.entries({ ...options, account: this.account })) {
      if (value) {
        url.searchParams.set(name, value);
      }
    }
    const body = content === undefined ? "" : JSON.stringify(content);
    const headers = { "Content-Type": "application/json" };
    if (this.#controlToken !== undefined) {
      headers.Authorization = `Bearer ${this.#controlToken}`;
    }
    const response = await fetch(url, { method: "POST", headers, body });
    const text = await response.text();
    if (!response.ok) {
      throw new Error(`azure-table-mock refuses ${path}: ${reason(text)}`);
    }
  }

  /** Stops the emulator after the requests in flight. */
  async stop() {
    this.#child.ref();
    this.#child.kill();
    await this.#ended;
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

/** The environment without the emulator's variables, so that only the options count. */
function environment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(AZURE_TABLE_MOCK_|AZURITE_)/.test(name)),
  );
}

/** The address that the emulator prints once it accepts requests. */
async function ready(child, ended, timeout) {
  let [out, errors] = ["", ""];
  let timer;
  const line = new Promise((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (text) => {
      out = READY.test(out) ? out : out + text;
      resolve(READY.exec(out)?.[1] ?? line);
    });
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    errors = (errors + text).slice(-10_000);
    process.stderr.write(text);
  });
  const failed = ended.then(([code]) => {
    throw new Error(`azure-table-mock ended with code ${code}: ${errors.trim()}`);
  });
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`azure-table-mock did not start in ${timeout} ms`)), timeout);
  });
  failed.catch(() => {});
  return Promise.race([line, failed, late]).finally(() => clearTimeout(timer));
}
