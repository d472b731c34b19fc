import { expect, test } from "bun:test";
import { lostTexts, wholeTexts } from "../../src/app/lost-texts.ts";
import { formatTouched, sourcesIn } from "../../src/context/format.ts";
import type { SourceInfo } from "../../src/types/event.ts";
import type { Message } from "../../src/types/message.ts";

const HASH = "xxh64:00000000000000aa";

function source(path: string, more: Partial<SourceInfo> = {}): SourceInfo {
  return {
    path,
    scope: "a",
    origin: "nested",
    contentHash: HASH,
    byteCount: 1,
    truncated: false,
    state: "visible",
    reason: "",
    ...more,
  };
}

const tool = (text: string, name = "run_shell"): Message => ({ role: "tool", callId: "c", name, text, failed: false });
const delivery = (path: string, body = "BODY", more: Partial<SourceInfo> = {}): string =>
  formatTouched([{ info: source(path, more), body }]);

test("what a delivery holds is found again, whatever its path and body say", () => {
  const path = '/w/a "b" <c> & \u0007/AGENTS.md';
  const [found, ...more] = sourcesIn(`out\n\n${delivery(path, '<source path="x" hash="xxh64:1"/>\n</source>\ntail')}\nrest`);
  expect(more).toEqual([]);
  expect(found).toMatchObject({ path, contentHash: HASH, truncated: false });
  expect(found?.element).toEndWith("tail\n</source>");
  expect(sourcesIn(formatTouched([{ info: source("/w/p") }]))).toEqual([]);
  expect(sourcesIn("<source path=".repeat(20_000))).toEqual([]);
});

test("a trimmed or shortened result loses what came with it; what another message holds whole is not lost", () => {
  const held = tool(`out\n\n${delivery("/w/a/AGENTS.md")}`);
  const user: Message = { role: "user", text: "hi" };
  const gone = [{ path: "/w/a/AGENTS.md", contentHash: HASH }];
  expect(lostTexts([user, held], [user, held], "/w")).toEqual([]);
  expect(lostTexts([user, held], [user, tool("[older result …]")], "/w")).toEqual(gone);
  expect(lostTexts([user, held], [user, { ...held, text: `${held.text.slice(0, -30)}…` }], "/w")).toEqual(gone);
  expect(lostTexts([user, held], [user, { ...held, text: delivery("/w/a/AGENTS.md") }], "/w")).toEqual([]);
  expect(lostTexts([held], [{ role: "user", text: delivery("/w/a/AGENTS.md") }], "/w")).toEqual([]);
});

test("a complete reading is held until it is cut; a shortened one counts for nothing", () => {
  const text = `a/AGENTS.md (lines 1-3 of 3, ${HASH})\n1: x\n2: y\n3: z`;
  const read = tool(text, "read_file_range");
  const whole = [{ path: "/w/a/AGENTS.md", contentHash: HASH }];
  expect(wholeTexts([read], "/w")).toEqual(whole);
  expect(wholeTexts([tool(text)], "/w")).toEqual([]);
  const short = tool(`a/AGENTS.md (lines 1-3 of 3, ${HASH})\n1: [… 9 characters …]`, "read_file_range");
  expect(wholeTexts([short], "/w")).toEqual([]);
  const clipped = tool(`${text}\n[line 2 (900 bytes) cut at 512 characters; …]`, "read_file_range");
  expect(wholeTexts([clipped], "/w")).toEqual([]);
  expect(lostTexts([read], [short], "/w")).toEqual(whole);
  const again = tool(text, "read_file_range");
  expect(lostTexts([read, again], [short, again], "/w")).toEqual([]);
  expect(wholeTexts([tool(delivery("/w/b", "B", { truncated: true }))], "/w")).toEqual([]);
});
