/** Child of files.test.ts: does one write and kills itself, beyond any clean-up, at the named step. */
import { createFile, type InstallStep, installFile, readSafe, writeOwnFile } from "../../src/base/files.ts";
import { openWorkspace } from "../../src/base/workspace.ts";

const [root = "", kind = "", path = "", content = "", deadly = ""] = process.argv.slice(2);
const onStep = (step: InstallStep) => {
  if (step === deadly) process.kill(process.pid, "SIGKILL");
};
const workspace = await openWorkspace(root);
const target = await workspace.resolve(path);
if (!target.ok) throw new Error(target.message);
const data = Buffer.from(content);
if (kind === "own") {
  console.log(await writeOwnFile(target.path, data, 0o600, { onStep }));
} else if (kind === "create") {
  console.log(await createFile(workspace, target.path, data, { onStep }));
} else {
  const original = await readSafe(target.path, { maxBytes: 1000 });
  if (!original.ok) throw new Error(original.message);
  console.log(await installFile(workspace, target.path, original, data, { onStep }));
}
