/** The registry and its catalog (tools.md): no schema without executor, no executor without schema. */
import { expect, test } from "bun:test";
import { catalog, effectOf, loadTool, toolNames, toolSpecs } from "../../src/tools/registry.ts";
import { describeTool } from "../../src/tools/tool-spec.ts";
import { readSources } from "../support/source-tree.ts";

/** tools.md, the table: fields in order, `*` = required. */
const INPUTS: Readonly<Record<string, string>> = {
  find_files: "pattern* path glob extensions max_depth include_hidden include_ignored follow_symlinks limit",
  list_searchable_files: "path glob include_hidden limit",
  search_text: "pattern* path glob extensions literal ignore_case context_lines include_hidden include_ignored limit",
  read_file_range: "path* start_line end_line",
  create_file: "path* content*",
  replace_range: "path* old_string* new_string* expected_before_hash",
  write_patch: "patches*",
  run_shell: "argv* cwd timeout_ms background",
  background_process: "action* process_id",
  read_url: "url* max_chars",
  web_search: "query* max_results",
};

const EFFECTS: Readonly<Record<string, string>> = {
  find_files: "read",
  list_searchable_files: "read",
  search_text: "read",
  read_file_range: "read",
  create_file: "write",
  replace_range: "write",
  write_patch: "write",
  run_shell: "shell",
  background_process: "shell",
  read_url: "net",
  web_search: "net",
};

type Schema = { readonly type?: string; readonly properties?: Record<string, Schema>; readonly required?: readonly string[] };

function fieldsOf(schema: Schema): string {
  return Object.keys(schema.properties ?? {})
    .map((name) => (schema.required?.includes(name) ? `${name}*` : name))
    .join(" ");
}

test("names are unique and the catalog lists each tool once, in order", () => {
  expect(catalog().map((entry) => entry.name)).toEqual([...toolNames()]);
  expect(new Set(toolNames()).size).toBe(toolNames().length);
});

test.each(toolNames().map((name) => [name]))("%s: schema, example, executor, words and catalog agree", async (name) => {
  const tool = await loadTool(name);
  if (tool === undefined) throw new Error(`${name} has no executor`);
  expect(tool.name).toBe(name);
  expect(typeof tool.run).toBe("function");
  expect(tool.effect as string).toBe(EFFECTS[name] ?? "");
  expect(effectOf(name)).toBe(tool.effect);

  expect(tool.description.startsWith(name)).toBe(true);
  expect(tool.description.length).toBeLessThan(450);
  expect(tool.description).toMatch(/\bUse\b|\bprefer\b/);
  expect(tool.description).toMatch(/\d|\bonly\b|\bno\b/);

  expect(tool.input.safeParse(tool.example).error).toBeUndefined();
  // A field that no tool knows is said, not dropped: `timeout` for `timeout_ms` would change what the call means.
  expect(tool.input.safeParse({ ...(tool.example as object), timeout: 5 }).error?.message).toContain("timeout");
  const fresh = describeTool(tool);
  expect(fieldsOf(fresh.parameters as Schema)).toBe(INPUTS[name] ?? "");
  expect((fresh.parameters as Schema).type).toBe("object");
  // Stable: the same text each time, and what the file holds. `bun scripts/catalog.ts` writes it anew.
  expect(JSON.stringify(describeTool(tool))).toBe(JSON.stringify(fresh));
  expect(JSON.stringify(catalog().find((entry) => entry.name === name))).toBe(JSON.stringify(fresh));
});

test("write_patch: the fields of one patch", async () => {
  const [spec] = toolSpecs((name) => name === "write_patch");
  if (spec === undefined) throw new Error("no write_patch");
  const { patches } = (spec.parameters as { properties: { patches: { items: Schema; minItems: number } } }).properties;
  expect(fieldsOf(patches.items)).toBe("op* path* content old_string new_string expected_before_hash");
  expect(patches.minItems).toBe(1);
});

test("what a provider gets is three keys, filtered by effect, and small", () => {
  for (const spec of toolSpecs()) expect(Object.keys(spec)).toEqual(["name", "description", "parameters"]);
  const reading = toolSpecs((_, effect) => effect === "read").map((spec) => spec.name);
  expect(reading).toEqual(["find_files", "list_searchable_files", "search_text", "read_file_range"]);
  const bytesPerTool = Buffer.byteLength(JSON.stringify(toolSpecs())) / toolNames().length;
  expect(bytesPerTool).toBeLessThan(850);
});

test("a name that is no tool is undefined, also one that objects inherit", async () => {
  for (const name of ["", "no_such_tool", "constructor", "__proto__", "toString"]) {
    expect(await loadTool(name)).toBeUndefined();
    expect(effectOf(name)).toBeUndefined();
  }
});

test("the registry loads neither zod nor a tool", () => {
  const [registry] = readSources("src/tools/registry.ts");
  const atStart = registry?.imports.filter((found) => found.kind === "value");
  expect(atStart?.map((found) => found.specifier)).toEqual(["./catalog.json"]);
});
