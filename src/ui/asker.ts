/**
 * Approval of tool calls by a person (security.md 5): one question at a time, with what exactly would run. Refuses: deciding
 * which calls need it (app/permit.ts).
 */
import type { AskApproval } from "../app/permit.ts";
import { type Allowance, type Approvals, allowanceFor, beside, covers, describeAllowance, type Standing } from "./approvals.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import type { Question } from "./picker.ts";
import { visible } from "./sanitize.ts";

type Answer = "once" | "session" | "project" | "no";

export type AskerOptions = {
  readonly approvals: () => Approvals;
  readonly pick: (question: Question<Answer>) => Promise<Answer | undefined>;
  /** The person gave up the question: the run is cancelled with it. */
  readonly cancel: () => void;
  readonly onFailure: (message: string) => void;
};

/** A text too long to be read before answering says so. */
function limited(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit).toWellFormed()}… (${text.length} characters in all)`;
}

/** A call without a command: its arguments; an outside agent's own title for it stands first (app/external-agent.ts). */
function describeInput(name: string, input: Readonly<Record<string, unknown>>): string {
  const { action, kind, input: raw, ...rest } = input;
  const titled = typeof action === "string" && typeof kind === "string" && Object.keys(rest).length === 0;
  const shown = limited(visible(JSON.stringify(titled ? raw : input) ?? ""), 2000);
  if (!titled) return `${visible(name)} ${shown}`;
  const title = limited(visible(action), 500);
  const lead = name.endsWith(` ${action}`) ? visible(name) : `${visible(name)}: ${title}`;
  return shown === "" || shown === "{}" ? lead : `${lead}  (input ${shown})`;
}

/** Everything that would run, complete: a question must not hide what it asks for. */
function describeCall(name: string, input: Readonly<Record<string, unknown>>): string {
  const { argv, cwd, background } = input;
  if (!Array.isArray(argv)) return describeInput(name, input);
  const words = argv.map((word) => {
    const text = visible(String(word));
    return /^[\w./:=@%+,-]+$/.test(text) ? text : JSON.stringify(text);
  });
  const where = typeof cwd === "string" ? `  (in ${visible(cwd)})` : "";
  const more = Object.keys(beside(input)).length === 0 ? "" : `  (with ${limited(visible(JSON.stringify(beside(input))), 2000)})`;
  return `${name}: ${limited(words.join(" "), 4000)}${where}${background === true ? "  (in the background)" : ""}${more}`;
}

const LASTING: Question<Answer>["choices"] = [
  { value: "session", label: "Yes, for this session" },
  { value: "project", label: "Yes, for this project" },
];

function questionFor(
  name: string,
  input: Readonly<Record<string, unknown>>,
  allowance: Allowance,
  standing: Standing,
  signal: AbortSignal,
): Question<Answer> {
  // What would not hold for this very call is not offered.
  const isLasting = covers(allowance, name, input, standing.root);
  // In the message, which is said in full on any terminal: beside a choice there is no room for it on a narrow one.
  const what = limited(visible(describeAllowance(allowance, standing)), 500);
  const remembered = isLasting ? `\nfor this session or project: ${what}` : "";
  return {
    message: `Allow ${describeCall(name, input)}${remembered}`,
    choices: [{ value: "once", label: "Yes, once" }, ...(isLasting ? LASTING : []), { value: "no", label: "No" }],
    initial: "once",
    signal,
    isGuarded: true,
  };
}

/** The function that `openRuntime` asks. */
export function createAsker(options: AskerOptions): AskApproval {
  const inTurn = oneAtATime();
  const ask: AskApproval = async (name, input, _, signal) => {
    if (signal.aborted) return { allowed: false, reason: "Cancelled." };
    if (options.approvals().allows(name, input)) return { allowed: true };
    const { standing } = options.approvals();
    const allowance = allowanceFor(name, input, standing.root);
    const answer = await options.pick(questionFor(name, input, allowance, standing, signal));
    if (answer === undefined) {
      if (!signal.aborted) options.cancel();
      return { allowed: false, reason: "Cancelled." };
    }
    if (answer === "no") return { allowed: false, reason: "The user said no." };
    if (answer === "session") options.approvals().forSession(allowance);
    if (answer === "project") {
      try {
        await options.approvals().forProject(allowance, signal);
      } catch (error) {
        if (signal.aborted) return { allowed: false, reason: "Cancelled." };
        options.onFailure(`not remembered: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    return { allowed: true };
  };
  return (name, input, entry, signal) => inTurn(() => ask(name, input, entry, signal));
}
