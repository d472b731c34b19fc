/** Child of files.test.ts (W06): swaps the directory `d` and a link to elsewhere as fast as it can, until it is killed. */
import { renameSync } from "node:fs";

const [root = ""] = process.argv.slice(2);
process.chdir(root);
console.log("swapping");
for (;;) {
  renameSync("d", "d.real");
  renameSync("link", "d");
  renameSync("d", "link");
  renameSync("d.real", "d");
}
