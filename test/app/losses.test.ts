/** Instruction texts that leave with a result: where there is no room for them, they come with the next touch. */
import { expect, test } from "bun:test";
import { noteLosses } from "../../src/app/losses.ts";
import { contentHash } from "../../src/base/hash.ts";
import { formatTouched } from "../../src/context/format.ts";
import type { Message } from "../../src/types/message.ts";

const info = {
  path: "/w/a/AGENTS.md",
  scope: "a",
  origin: "nested",
  contentHash: contentHash("BODY"),
  byteCount: 4,
  truncated: false,
  state: "visible",
  reason: "",
} as const;
const delivered = formatTouched([{ info, body: "BODY" }]);
const tool = (callId: string, text: string): Message => ({ role: "tool", callId, name: "run_shell", text, failed: false });

async function played(seen: boolean, fits: boolean) {
  const answer: Message = { role: "assistant", text: "ok", calls: [] };
  const messages: Message[] = [{ role: "user", text: "x" }, answer, tool("1", `out\n\n${delivered}`)];
  if (seen) messages.push(answer);
  messages.push(tool("2", "newest"));
  const asked: unknown[] = [];
  const told: unknown[] = [];
  const context = {
    lost: async (sources: readonly unknown[], unseen: readonly unknown[] = []) => {
      asked.push([sources.length, unseen.length]);
      return unseen.length > 0 ? { text: delivered, sources: [info] } : { text: "", sources: [] };
    },
  };
  const parts = { messages, workspace: "/w", context, fits: () => fits, onSources: (sources: unknown) => told.push(sources) };
  await noteLosses(parts, async () => {
    messages[2] = tool("1", "[older result]");
  });
  return { asked, told: told.length, newest: messages.at(-1)?.text };
}

test("one that the model has not seen comes at the end of the newest result, if it fits", async () => {
  expect(await played(false, true)).toEqual({ asked: [[1, 1]], told: 1, newest: `newest\n\n${delivered}` });
  expect(await played(false, false)).toEqual({
    asked: [
      [1, 1],
      [1, 0],
    ],
    told: 0,
    newest: "newest",
  });
  expect(await played(true, true)).toEqual({ asked: [[1, 0]], told: 0, newest: "newest" });
});
