/**
 * The model of the small-window soak: works for as many turns as it is told, through every kind of tool result, and counts
 * every request in two ways. Refuses: judging.
 */
import type { Seen, Step } from "../../test/support/loopback.ts";
import type { ScriptedCall, Wire } from "../../test/support/wire/answer.ts";

export const OBJECTIVE = "Port the parser to the new lexer.";
export const CONSTRAINT = "Under no circumstances touch api.ts.";
export const PROMPT = `${OBJECTIVE} ${CONSTRAINT}`;
export const RULE = "Always whistle while porting.";
export const NESTED_RULE = "In this part, tabs are forbidden.";
/** A check that fails at turn 12 and is never repaired. */
export const FAILING = "FAIL lexer round trip";
/** An edit late in the run that no command follows. */
export const EDIT = "unverified-edit.txt";

export const FILES: Readonly<Record<string, string>> = {
  "AGENTS.md": `${RULE}\n`,
  "part/AGENTS.md": `${NESTED_RULE}\n`,
  "part/code.ts": "export const part = 1;\n",
  "api.ts": "export const api = 1;\n",
  "large.txt": Array.from({ length: 900 }, (_, n) => `${n} large line of text that goes on for a while`).join("\n"),
  "small.txt": Array.from({ length: 40 }, (_, n) => `small line ${n}`).join("\n"),
};

export type Counted = {
  readonly number: number;
  readonly summary: boolean;
  /** Raw bytes of the request / 3.5. */
  readonly byBytes: number;
  /** By the server's own tokeniser; absent where it was not asked to count. */
  readonly byServer: number | undefined;
  readonly at: number;
};

const PIECES = /\p{L}{1,5}|\p{N}{1,3}|[^\s\p{L}\p{N}]{1,3}|\n+/gu;

/** Tokens of a server that knows nothing of 3.5: pieces of words, digits, signs, line breaks in every string. */
export function serverTokens(value: unknown): number {
  if (typeof value === "string") return value.match(PIECES)?.length ?? 0;
  if (Array.isArray(value)) return value.reduce((sum: number, inner) => sum + 3 + serverTokens(inner), 0);
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, inner) => sum + 1 + serverTokens(inner), 0);
}

const SUMMARY =
  "## Objective\n- port the parser\n## Decisions\n- none\n## Findings\n- the lexer is new\n## Files touched\n- small.txt\n## Failures\n- round trip\n## Verification\n- none\n## Open work\n- the rest";

export const isSummary = ({ body }: Seen): boolean => (body.tools ?? []).length === 0;

const shell = (script: string): ScriptedCall => ({ name: "run_shell", arguments: { argv: ["sh", "-c", script] } });
const read = (path: string, start: number, end: number): ScriptedCall => ({
  name: "read_file_range",
  arguments: { path, start_line: start, end_line: end },
});

/** The calls of a turn; every result holds `mark-TURN`. The last fifth runs no command: its edit stays unverified. */
function callsOf(turn: number, turns: number): readonly ScriptedCall[] {
  const mark = { name: "search_text", arguments: { pattern: `mark-${turn}-nowhere` } };
  if (turn === 12) return [shell(`echo mark-12; echo "${FAILING}"; exit 1`)];
  if (turn === Math.floor(turns * 0.8)) return [{ name: "create_file", arguments: { path: EDIT, content: `mark-${turn}\n` } }];
  const quiet = turn > turns * 0.8;
  // Now and then a result far larger than the room there is.
  if (turn % 37 === 5) return [mark, read("large.txt", turn, turn + 400), read("large.txt", turn + 300, turn + 500)];
  if (turn % 11 === 3) return [mark, read("part/code.ts", 1, turn)];
  if (turn % 5 === 2 && !quiet) return [shell(`echo mark-${turn}; head -c ${300 + ((turn * 97) % 2500)} large.txt`)];
  if (turn % 7 === 1) return [mark, read("small.txt", 1 + (turn % 30), 40), read("large.txt", turn, turn + 12)];
  return [mark, read("small.txt", 1 + (turn % 30), 9 + (turn % 30))];
}

export type WindowModel = {
  readonly counted: Counted[];
  readonly script: (seen: Seen) => Promise<Step>;
  /** The last turn that was given out. */
  turns(): number;
  /** A process begins: its share of turns begins with it. */
  startRun(): void;
};

/** The turns whose answers a request holds, in order. */
export function turnsIn(seen: Seen, wire: Wire): number[] {
  return [...saidIn(seen, wire).matchAll(/"turn (\d+): on with it/g)].map((found) => Number(found[1]));
}

/**
 * `turns` tool turns, then an answer; with `perRun`, every process ends after so many. Where the work stands is read from the
 * request: a turn that was never recorded is given out again. `inspect` sees every request and may answer in its place;
 * `count` false leaves the server's tokeniser out (it takes its time on large requests).
 */
export function createWindowModel(options: {
  readonly turns: number;
  readonly wire: Wire;
  readonly perRun?: number;
  readonly count: boolean;
  readonly inspect: (seen: Seen, summary: boolean, turn: number) => Partial<Step> | undefined;
}): WindowModel {
  const counted: Counted[] = [];
  let turn = 0;
  let inRun = 0;
  const script = async (seen: Seen): Promise<Step> => {
    const summary = isSummary(seen);
    const byServer = options.count ? serverTokens(seen.body) : undefined;
    const byBytes = Math.ceil(Buffer.byteLength(seen.raw) / 3.5);
    counted.push({ number: seen.number, summary, byBytes, byServer, at: performance.now() });
    if (!summary) turn = turnsIn(seen, options.wire).at(-1) ?? turn;
    const more = options.inspect(seen, summary, turn);
    const usage = byServer === undefined ? null : { input: byServer, output: 60 };
    if (summary) return { text: SUMMARY, usage, ...more };
    if (turn >= options.turns || (options.perRun !== undefined && inRun >= options.perRun)) {
      return { text: `ported as far as turn ${turn}`, usage, ...more };
    }
    turn += 1;
    inRun += 1;
    return { text: `turn ${turn}: on with it`, calls: callsOf(turn, options.turns), usage, ...more };
  };
  return {
    counted,
    script,
    turns: () => turn,
    startRun: () => {
      inRun = 0;
    },
  };
}

/** Text of everything that is said in a request, whatever the wire. */
export function saidIn({ body }: Seen, wire: Wire): string {
  return JSON.stringify(wire === "responses" ? body.input : body.messages);
}
