/**
 * Flags that promise what cannot be kept while an outside agent drives the turns: it has a model, instructions and limits of its
 * own. Settings of a file promise nothing for this run, so they are not asked. Refuses: knowing agents.
 */
import { UserError } from "../base/user-error.ts";
import type { OpenOptions, RunFlags } from "./open-options.ts";

const OWN_MODEL = "it asks a model of its own, and thndrs sees none of it";
const OWN_INSTRUCTIONS = "it finds its own instructions; thndrs sends it the prompt and nothing else";

type Asked = Pick<RunFlags, "maxTurns" | "maxCost" | "reasoningEffort" | "pin" | "noContext" | "skillDir"> &
  Pick<OpenOptions, "recordFile" | "captureFile">;

/** Lists count when they hold something. */
function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
}

const NOT_KEPT: readonly (readonly [keyof Asked, flag: string, why: string])[] = [
  ["maxTurns", "--max-turns", "it makes its own requests, and thndrs cannot count them"],
  ["maxCost", "--max-cost", "the agent spends on its own"],
  ["reasoningEffort", "--reasoning-effort", OWN_MODEL],
  ["recordFile", "--record", OWN_MODEL],
  ["captureFile", "--capture", OWN_MODEL],
  ["pin", "--pin", OWN_INSTRUCTIONS],
  ["noContext", "--no-context", OWN_INSTRUCTIONS],
  ["skillDir", "--skill-dir", OWN_INSTRUCTIONS],
];

/** @throws UserError that names every flag `agent` (`acp:NAME`) cannot be held to, and why. */
export function demandKeptFlags(agent: string, { flags, recordFile, captureFile }: OpenOptions): void {
  const asked: Asked = { ...flags, ...(recordFile !== undefined && { recordFile }), ...(captureFile && { captureFile }) };
  const found = NOT_KEPT.filter(([key]) => isGiven(asked[key])).map(
    ([, flag, why]) => `${flag} cannot be kept with ${agent}: ${why}`,
  );
  if (found.length > 0) throw new UserError(found.join("\n"));
}
