/**
 * `/context …`: what is in the context, one item of it, pins, drops, recovery; the review of a summary is slash-compact.ts's.
 * Refuses: deciding anything (app/context-controls.ts).
 */
import type { LedgerItem } from "../types/event.ts";
import type { Repl } from "./repl.ts";
import { sanitize, visible } from "./sanitize.ts";
import { shortCount } from "./style.ts";

export type ContextRepl = Pick<Repl, "say" | "error"> & {
  readonly controls: Pick<Repl["controls"], "context" | "windowUse">;
  readonly runtime: Pick<Repl["runtime"], "pendingCompaction">;
};

/** More items than this are for `/context all`. */
const MAX_ITEMS = 64;

const USAGE =
  "usage: /context [all], /context item NAME, /context pin|unpin|drop PATH, /context drop --reset [PATH], /context recover HANDLE, /context review approve|reject";

/** What may stand after `/context`. */
const CONTEXT_VERBS = ["all", "item", "pin", "unpin", "drop", "recover", "review"] as const;

/** Words that may follow `/context VERB`: paths for drop and unpin, verdicts for review. */
export function contextWords(repl: ContextRepl, [verb, option, ...more]: readonly string[]): readonly string[] {
  const { context } = repl.controls;
  if (verb === "drop" && option === "--reset" && more.length === 0) return context.drops();
  if (option !== undefined) return [];
  if (verb === undefined) return CONTEXT_VERBS;
  if (verb === "review") return ["approve", "reject"];
  if (verb === "unpin") return context.pins();
  if (verb === "drop") return ["--reset", ...context.ledger().items.flatMap((item) => (isSource(item) ? (item.path ?? []) : []))];
  return [];
}

function isSource(item: LedgerItem): boolean {
  return item.kind === "project_instruction" || item.kind === "pinned_file";
}

function row(item: LedgerItem): string {
  const size = shortCount(item.tokenEstimate).padStart(5);
  const what = visible(item.path ?? item.id);
  return `  ${item.kind.padEnd(19)} ${visible(item.state).padEnd(9)} ${size}  ${what}: ${visible(item.reason)}`;
}

function overview(repl: ContextRepl, all: boolean): void {
  const { context } = repl.controls;
  const { contextWindow } = repl.controls.windowUse();
  const { items, used, availableInput, autoCompactionThreshold, limitSource } = context.ledger();
  const share = Math.min(100, Math.round((used / Math.max(1, availableInput)) * 100));
  const shown = all ? items : items.slice(0, MAX_ITEMS);
  const more = items.length - shown.length;
  repl.say([
    `context: about ${shortCount(used)} of ${shortCount(availableInput)} tokens used (${share}%), compacted from ${shortCount(autoCompactionThreshold)} on; window ${shortCount(contextWindow)} (${limitSource})`,
    ...shown.map(row),
    ...(more > 0 ? [`  … and ${more} more: /context all`] : []),
    ...list("pinned", context.pins()),
    ...list("dropped", context.drops()),
  ]);
  const pending = repl.runtime.pendingCompaction;
  if (pending) repl.say([`a summary waits for review (${visible(pending.handle)}): /context review approve, or reject`]);
}

function list(label: string, paths: readonly string[]): string[] {
  return paths.length === 0 ? [] : [`${label}: ${paths.map(visible).join(", ")}`];
}

/** One item, by its id, its path or the end of its path. */
function showItem(repl: ContextRepl, name: string): void {
  const { items } = repl.controls.context.ledger();
  const exact = items.filter((item) => item.id === name || item.path === name);
  const found = exact.length > 0 ? exact : items.filter((item) => item.path?.endsWith(`/${name.replace(/^\.\//, "")}`) ?? false);
  if (found.length === 0) {
    repl.error(`nothing in the context is called ${visible(name)}: /context all lists everything`);
    return;
  }
  for (const item of found) {
    repl.say([
      visible(item.path ?? item.id),
      `  id       ${visible(item.id)}`,
      `  kind     ${item.kind}${item.scope === undefined ? "" : `, scope ${visible(item.scope)}`}`,
      `  state    ${visible(item.state)}: ${visible(item.reason)}`,
      `  size     ${item.byteCount} bytes, about ${item.tokenEstimate} tokens`,
      ...(item.contentHash === undefined ? [] : [`  content  ${item.contentHash}`]),
    ]);
  }
}

async function recover(repl: ContextRepl, handle: string): Promise<void> {
  const found = await repl.controls.context.recover(handle);
  repl.say([`${visible(found.handle)} as recorded (nothing is run again or sent):`, ...sanitize(found.text).split("\n")]);
}

function answer(repl: ContextRepl, { ok, message }: { readonly ok: boolean; readonly message: string }): void {
  if (ok) repl.say([visible(message)]);
  else repl.error(visible(message));
}

/** Everything but `/context review`. `rest` is what was typed behind `/context`. Throws UserError for an unknown handle. */
export async function context(repl: ContextRepl, rest: string): Promise<void> {
  const [, verb = "", tail = ""] = /^(\S*)\s*([\s\S]*)$/.exec(rest.trim()) ?? [];
  const { context: controls } = repl.controls;
  const [, reset, path] = /^(--reset)(?:\s+([\s\S]+))?$/.exec(tail) ?? [];
  if (verb === "" || (verb === "all" && tail === "")) overview(repl, verb === "all");
  else if (tail === "" || verb === "all") repl.error(USAGE);
  else if (verb === "item") showItem(repl, tail);
  else if (verb === "pin") answer(repl, await controls.pin(tail));
  else if (verb === "unpin") answer(repl, controls.unpin(tail));
  else if (verb === "drop") answer(repl, await (reset ? controls.resetDrops(path) : controls.drop(tail)));
  else if (verb === "recover") await recover(repl, tail);
  else repl.error(USAGE);
}
