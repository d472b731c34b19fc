/** `acp serve --model acp:NAME`: an editor's read-only mode reaches the agent behind us, and so does its end. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { openEditor } from "../acp/editor.ts";
import { fakeConfig } from "../acp/stage.ts";
import { tempDir } from "../support/temp.ts";

const QUESTION = {
  toolCall: { toolCallId: "c", title: "Wipe", kind: "execute" },
  options: [
    { optionId: "yes", name: "Yes", kind: "allow_once" },
    { optionId: "no", name: "No", kind: "reject_once" },
  ],
};

test("in read-only mode the agent's questions are answered no, its writes refused, its MCP servers gone", async () => {
  await using log = await tempDir();
  const asked: string[] = [];
  await using editor = await openEditor({
    script: [],
    config: fakeConfig(["plain"], log.at("heard.jsonl"), '[mcp.servers.files]\ncommand = "files"\n'),
    flags: { model: "acp:plain" },
    permission: (title) => {
      asked.push(title);
      return "allow";
    },
  });
  const id = await editor.open();
  const act = JSON.stringify([
    ["session/request_permission", QUESTION],
    ["fs/write_text_file", { path: editor.place.at("a.txt"), content: "W" }],
    ["terminal/create", { command: "touch", args: ["T"] }],
  ]);
  const heard = () =>
    readFileSync(log.at("heard.jsonl"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  const said = () =>
    editor.updates.flatMap((update) =>
      update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? [update.content.text] : [],
    );
  const begun = () =>
    heard().flatMap(({ method, params }) =>
      /^session\/(?:new|load)$/.test(method) ? [[method, params.mcpServers.map((server: { name: string }) => server.name)]] : [],
    );

  await editor.prompt(id, "hello");
  await editor.agent.request("session/set_mode", { sessionId: id, modeId: "read-only" });
  await editor.prompt(id, act);
  expect(asked).toEqual([]);
  expect(said().join("")).toContain('"optionId":"no"');
  expect(said().join("")).not.toContain('"optionId":"yes"');
  expect(
    said()
      .join("")
      .match(/read-only/g),
  ).toHaveLength(2);
  for (const name of ["a.txt", "T"]) expect(existsSync(editor.place.at(name))).toBe(false);
  expect(begun()).toEqual([
    ["session/new", ["files"]],
    ["session/load", []],
  ]);

  await editor.agent.request("session/set_mode", { sessionId: id, modeId: "workspace-write" });
  await editor.prompt(id, act);
  expect(asked).toHaveLength(1);
  expect(readFileSync(editor.place.at("a.txt"), "utf8")).toBe("W");
  expect(begun().at(-1)).toEqual(["session/load", ["files"]]);
});
