/** With the home directory as the workspace a tool read thndrs' own stored key, and could have written what is trusted. */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { startModel } from "../support/model.ts";
import { runThndrs } from "../support/run.ts";
import { tempDir } from "../support/temp.ts";

const KEY = "k3y-stored-by-login-1234567890";
const none = { XDG_CONFIG_HOME: undefined, XDG_STATE_HOME: undefined, XDG_DATA_HOME: undefined, XDG_CACHE_HOME: undefined };
const OWN = [
  ".config/thndrs/credentials.json",
  ".config/thndrs/trust.json",
  ".config/thndrs/approvals.json",
  ".local/state/thndrs/history",
];

const call = (name: string, args: Record<string, unknown>) => ({ name, arguments: args });
const create = (path: string) => call("create_file", { path, content: "{}" });

async function answers(cwd: string, calls: ReturnType<typeof call>[], args: string[] = []): Promise<string[]> {
  await using model = await startModel([{ calls }, { text: "done" }]);
  const env = { ...model.env, ...none, HOME: cwd };
  expect((await runThndrs({ args: ["-p", "x", ...args], cwd, env })).code).toBe(0);
  return model.server.requests[1]?.body.messages
    .filter(({ role }: { role: string }) => role === "tool")
    .map(({ content }: { content: string }) => content);
}

test.each([[[]], [["--authority", "read-only"]]])("no tool reads them %p", async (args) => {
  await using dir = await tempDir({
    [OWN[0] ?? ""]: `{"credentials":{"x":{"key":"${KEY}"}}}`,
    [OWN[3] ?? ""]: `prompt ${KEY}\n`,
  });
  await dir.write({ ".config/thndrs/config.toml": "# mine\n" });
  symlinkSync(".config/thndrs", dir.at("link"));
  const calls = [
    ...[OWN[0] ?? "", "link/credentials.json", OWN[3] ?? ""].map((path) => call("read_file_range", { path })),
    call("search_text", { pattern: "k3y", path: OWN[0] }),
    call("search_text", { pattern: "k3y", include_hidden: true }),
    call("search_text", { pattern: "k3y", include_hidden: true, path: ".local/state/thndrs" }),
    call("read_file_range", { path: ".config/thndrs/config.toml" }),
    call("list_searchable_files", { include_hidden: true }),
  ];
  const told = await answers(dir.path, calls, args);
  // Not even that something matches: it could be guessed letter by letter.
  expect(told[4]).not.toContain("matches too");
  expect(told[7]).toContain(".config/thndrs/config.toml");
  for (const path of OWN) expect(told[7]).not.toContain(path);
  for (const text of told.slice(0, 4)) expect(text).toContain("is one of thndrs' own files");
  for (const text of told.slice(0, 6)) expect(text).not.toContain(KEY);
  expect(told[6]).toContain("# mine");
});

test("no tool writes them, there or not yet, nor what a link there leads to", async () => {
  await using dir = await tempDir({ "dotfiles/keys": KEY });
  mkdirSync(dir.at(".config/thndrs"), { recursive: true });
  symlinkSync("../../dotfiles/keys", dir.at(OWN[0] ?? ""));
  const replace = call("write_patch", { patches: [{ op: "replace", path: "dotfiles/keys", content: "" }] });
  const told = await answers(dir.path, [
    ...OWN.slice(1).map(create),
    replace,
    call("read_file_range", { path: "dotfiles/keys" }),
  ]);
  for (const text of told) expect(text).toContain("is one of thndrs' own files");
  expect(OWN.slice(1).filter((path) => existsSync(dir.at(path)))).toEqual([]);
  expect(await dir.read("dotfiles/keys")).toBe(KEY);
});

test("in a workspace that is not the home these are names like others", async () => {
  await using dir = await tempDir({ "trust.json": "old\n" });
  await using model = await startModel([{ calls: [call("read_file_range", { path: "trust.json" })] }, { text: "done" }]);
  expect((await runThndrs({ args: ["-p", "x"], cwd: dir.path, env: model.env })).code).toBe(0);
  expect(JSON.stringify(model.server.requests[1]?.body)).toContain("1: old");
});
