/** `/context …` in the REPL: the ledger, pins, drops, recovery, as a person uses them. */
import { expect, test } from "bun:test";
import { startRepl, waitForFlat } from "../ui/repl-stage.ts";

const FILES = { ".git/HEAD": "", "AGENTS.md": "ROOT-RULES", "api/AGENTS.md": "API-RULES", "api/notes.md": "NOTES-TEXT" };

test("/context: items, pin, drop, --reset, recover; each decision is a record and reaches the next request", async () => {
  await using stage = await startRepl(() => ({ text: "fine" }), { files: FILES, columns: 120 });
  const { terminal, model } = stage;
  const sent = (): string => model.server.requests.at(-1)?.body.messages.at(-1)?.content ?? "";
  const ask = async (text: string, n: number): Promise<void> => {
    stage.send(text);
    await model.server.request(n);
    await terminal.waitFor((screen) => screen.everything().split("fine").length > n);
  };
  await ask("one", 1);
  stage.send("/context");
  await waitForFlat(terminal, "harness visible");
  await waitForFlat(terminal, "api/AGENTS.md: not named, pinned or touched so far");
  stage.send("/context pin api/notes.md");
  await waitForFlat(terminal, "Pinned api/notes.md");
  stage.send("/context drop AGENTS.md");
  await waitForFlat(terminal, "until its content changes");
  await ask("two", 2);
  expect(sent()).toMatch(/status="withdrawn"[\s\S]*API-RULES[\s\S]*kind="pinned_file">\nNOTES-TEXT/);
  stage.send("/context drop --reset");
  await waitForFlat(terminal, "No longer dropped: AGENTS.md");
  await ask("three", 3);
  expect(sent()).toContain("ROOT-RULES");
  stage.send("/context item api/notes.md");
  await waitForFlat(terminal, "kind pinned_file, scope api");
  stage.send("/context recover records 0-6");
  await waitForFlat(terminal, "records 0-6 as recorded");
  stage.send("/context recover nothing");
  await waitForFlat(terminal, 'There is no recovery handle "nothing"');
  stage.send("/context nonsense x");
  await waitForFlat(terminal, "usage: /context");
  const kinds = (await stage.records())
    .map((record) => record.type)
    .filter((type) => /^context_(pin|drop|recovery)$/.test(String(type)));
  expect(kinds).toEqual(["context_pin", "context_drop", "context_drop", "context_recovery"]);
  expect(model.server.requests.length).toBe(3);
  terminal.press("ctrl+d");
  expect((await terminal.exited).code).toBe(0);
});
