/**
 * The binary starts with a patient JIT (scripts/compile.ts): a short run never earns back the time that compiling its code
 * takes (a third of its CPU, measured). A run that turns out long asks for the usual policy here. Refuses: deciding what is said.
 */
import type { RunEvent } from "../types/event.ts";

/** From this many requests, or characters of answers, on a run counts as long. Reading and showing a megabyte is mostly native code. */
const LONG_REQUESTS = 24;
const LONG_CHARACTERS = 1024 * 1024;
/** A conversation of so many bytes is rebuilt, measured and sent in a fifth less time with the usual policy. */
const LONG_LOG_BYTES = 1024 * 1024;

const compileAsUsual = (): void => Bun.unsafe.setJITPolicy(1);

/** The run goes on with a log of so many bytes. */
export function warmUpFor(logBytes: number, compile: () => void = compileAsUsual): void {
  if (logBytes >= LONG_LOG_BYTES) compile();
}

/** A tap on the run's events; `compile` is called once, when the run is long. */
export function createWarmUp(compile: () => void = compileAsUsual): (event: RunEvent) => void {
  let requests = 0;
  let characters = 0;
  let warm = false;
  return (event) => {
    if (warm) return;
    if (event.type === "request_started") requests += 1;
    else if (event.type === "text_delta") characters += event.text.length;
    else return;
    warm = requests >= LONG_REQUESTS || characters >= LONG_CHARACTERS;
    if (warm) compile();
  };
}
