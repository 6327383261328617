#!/usr/bin/env node
// The command `azure-table-emulator`: runs the program with the same arguments, output and exit code.

import { spawn } from "node:child_process";

import { binaryPath } from "./index.js";

let child;
// Before the start, because a signal can follow the emulator's first line at once.
for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"]) {
  // A terminal sends Ctrl-C to both processes, and a second signal would cut requests in flight.
  process.on(signal, () => (signal === "SIGINT" && process.stdin.isTTY) || child.kill(signal));
}
child = spawn(binaryPath(), process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`azure-table-emulator: ${error.message}`);
  process.exitCode = 1;
});
child.on("exit", (code) => {
  process.exitCode = code ?? 1;
});
