/** Writes src/tools/catalog.json from the tools' schemas: run it after a change to a tool's words or input. */
import { join } from "node:path";
import { loadTool, toolNames } from "../src/tools/registry.ts";
import { describeTool } from "../src/tools/tool-spec.ts";

const entries = [];
for (const name of toolNames()) {
  const tool = await loadTool(name);
  if (tool !== undefined) entries.push(describeTool(tool));
}
// Lists of words on one line, as the formatter has them.
const text = JSON.stringify(entries, null, 2).replace(/\[\s+("[^"[\]{}]*"(?:,\s+"[^"[\]{}]*")*)\s+\]/g, (_, words: string) => {
  return `[${words.replace(/\s+/g, " ")}]`;
});
await Bun.write(join(import.meta.dir, "../src/tools/catalog.json"), `${text}\n`);
