import { expect, test } from "bun:test";
import { takeSteering } from "../../src/app/steering.ts";
import type { Activation } from "../../src/skills/skills.ts";
import type { RunEvent } from "../../src/types/event.ts";

const NOTHING: Activation = { text: "", effects: [], diagnostics: [] };

const effect = { kind: "skill_activated", name: "a", path: "/a", contentHash: "x", byteCount: 1, references: [] } as const;
const diagnostic = { severity: "warning", code: "skills.untrusted", message: "not trusted" } as const;

async function taken(texts: readonly string[], seq: number | undefined, withSkills = true) {
  const events: RunEvent[] = [];
  const seqs: number[] = [];
  let last = seq;
  const messages = await takeSteering("turn-1", {
    queue: { takeSteering: () => texts },
    skills: withSkills
      ? {
          async steer(text) {
            if (!text.includes("$a")) return NOTHING;
            // Its effect is a record too.
            if (last !== undefined) last += 1;
            return { text: "<skill>A</skill>", effects: [effect], diagnostics: [diagnostic] };
          },
        }
      : undefined,
    emit: (event) => events.push(event),
    lastSeq: () => last,
    onMessage: (_, at) => seqs.push(at),
  });
  return { texts: messages.map((message) => message.text), events, seqs };
}

test("the skills that steering names stand at its head; effects and warnings are events of the turn", async () => {
  const { texts, events, seqs } = await taken(["plain", "use $a", "more"], 12);
  expect(texts).toEqual(["plain", "<skill>A</skill>\n\nuse $a", "more"]);
  expect(events).toEqual([
    { type: "diagnostic", diagnostic },
    { type: "effect", turnId: "turn-1", callId: "", effect },
  ]);
  expect(seqs).toEqual([10, 11, 12]);
});

test("an agent with skills of its own gets the words alone; without a log there are no records to name", async () => {
  expect(await taken(["use $a"], 3, false)).toEqual({ texts: ["use $a"], events: [], seqs: [3] });
  expect((await taken(["x"], undefined)).seqs).toEqual([]);
});
