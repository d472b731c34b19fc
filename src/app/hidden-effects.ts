/**
 * Commands and changed files in a run's events, without the secrets they carry: whoever shows them (stderr, stream-json, the REPL)
 * gets them as the log does. Refuses: deciding what a secret is.
 */
import { redactValue } from "../base/redact.ts";
import type { Effect, Emit } from "../types/event.ts";

/** `emit`, with `redact` over what a command was started with and what a written file is called. */
export function hideEffects(emit: Emit, redact: (text: string) => string): Emit {
  return (event) => emit(event.type === "effect" ? { ...event, effect: hidden(event.effect, redact) } : event);
}

function hidden(effect: Effect, redact: (text: string) => string): Effect {
  if (effect.kind === "shell_exec") return { ...effect, command: redactValue(effect.command, redact), cwd: redact(effect.cwd) };
  return effect.kind === "file_write" ? { ...effect, path: redact(effect.path) } : effect;
}
