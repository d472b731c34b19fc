/**
 * What print mode says on stderr: one line each, `thndrs: …`, never tool or model output at the start of a line (C20).
 * Refuses: stdout.
 */
import type { RunEvent, ShellExec } from "../types/event.ts";
import type { OutputStream } from "./output.ts";
import { visible } from "./sanitize.ts";
import { callSummary } from "./tool-summary.ts";

export type Verbosity = "quiet" | "normal" | "verbose";

export interface Notices {
  /** Whether details are shown: what is only one need not be put together. */
  readonly verbose: boolean;
  /** Shown unless `--quiet`. */
  note(text: string): void;
  /** Shown with `--verbose`. */
  detail(text: string): void;
  /** Always shown; several lines stay several lines, each with the prefix. */
  error(text: string): void;
  event(event: RunEvent): void;
}

/** How a command ended, as a fact (H18). */
function shellEnd(effect: ShellExec): string {
  if (effect.processStatus === "running") return `started as ${effect.processId ?? "a background process"}`;
  if (effect.processStatus === "timeout") return "timed out";
  if (effect.processStatus === "cancelled") return "cancelled";
  if (effect.signal !== undefined) return `killed by ${effect.signal}`;
  return effect.exitCode === 0 ? "ok" : `exit ${effect.exitCode}`;
}

/** A process that outlived its call (by itself, or because the run is over), or what an outside agent ran here without one. */
function endWithoutCall(effect: ShellExec): string {
  const { processKind, processId, processStatus, command, elapsedMs } = effect;
  const isBackground = processKind === "background";
  const what = isBackground ? (processId ?? "a background process") : "a command of the agent";
  const end = isBackground && processStatus === "cancelled" ? "ended with the run" : shellEnd(effect);
  return `${what} (${command.join(" ")}): ${end}, ${seconds(elapsedMs)}`;
}

function seconds(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

/** Notices of one run, for stderr. */
export function createNotices(stream: OutputStream, verbosity: Verbosity): Notices {
  const line = (text: string): void => stream.line(`thndrs: ${visible(text)}`);
  const started = new Map<string, string>();
  const exits = new Map<string, string>();
  const notices: Notices = {
    verbose: verbosity === "verbose",
    note: (text) => verbosity !== "quiet" && line(text),
    detail: (text) => verbosity === "verbose" && line(text),
    error: (text) => {
      for (const part of text.split("\n")) line(part);
    },
    event(event) {
      switch (event.type) {
        case "tool_started":
          started.set(event.callId, callSummary(event.name, event.arguments));
          break;
        case "effect":
          if (event.effect.kind !== "shell_exec") break;
          if (started.has(event.callId)) exits.set(event.callId, shellEnd(event.effect));
          else notices.note(endWithoutCall(event.effect));
          break;
        case "tool_finished": {
          const summary = started.get(event.callId) ?? event.name;
          const end = exits.get(event.callId) ?? event.status;
          started.delete(event.callId);
          exits.delete(event.callId);
          notices.note(`${summary}: ${end}, ${seconds(event.elapsedMs)}${event.truncated ? ", truncated" : ""}`);
          if (event.status === "failed") notices.detail(`  ${event.output.split("\n")[0] ?? ""}`);
          break;
        }
        case "retrying":
          notices.note(
            `${event.message}; trying again in ${seconds(event.delayMs)} (attempt ${event.attempt} of ${event.maxAttempts})`,
          );
          break;
        case "diagnostic": {
          const { severity, message, path, line: at } = event.diagnostic;
          const where = path === undefined || message.includes(path) ? "" : `${path}${at === undefined ? "" : `:${at}`}: `;
          if (severity === "info") notices.detail(`${where}${message}`);
          else if (severity === "warning") notices.note(`warning: ${where}${message}`);
          else notices.error(`error: ${where}${message}`);
          break;
        }
        default:
          break;
      }
    },
  };
  return notices;
}
