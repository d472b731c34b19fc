/** `bun run check`: types, lint and format, the house rules. Runs all three whatever fails. Changes nothing. */
import { join } from "node:path";
import { install, root, run } from "./steps.ts";

await install();
const bun = process.execPath;
const steps: readonly (readonly [string, readonly string[]])[] = [
  ["types", [bun, "check", "--no-script"]],
  ["lint and format", [bun, join(root, "node_modules", "@biomejs", "biome", "bin", "biome"), "check", "--error-on-warnings"]],
  ["house rules", [bun, "test", "test/house.test.ts"]],
];

const failed: string[] = [];
for (const [name, command] of steps) {
  console.log(`── ${name}`);
  if ((await run(command)) !== 0) failed.push(name);
}
console.log(failed.length === 0 ? "check: all good" : `check: failed: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
