/**
 * Commands in a run's events, without the secrets they carry: whoever shows them (stderr, stream-json, the REPL) gets them as the
 * log does. Refuses: paths of changed files, which programs go on with.
 */
import { redactValue } from "../base/redact.ts";
import type { Emit } from "../types/event.ts";

/** `emit`, with `redact` over what a command was started with. */
export function hideCommands(emit: Emit, redact: (text: string) => string): Emit {
  return (event) => {
    if (event.type !== "effect" || event.effect.kind !== "shell_exec") return emit(event);
    const { command, cwd } = event.effect;
    return emit({ ...event, effect: { ...event.effect, command: redactValue(command, redact), cwd: redact(cwd) } });
  };
}
