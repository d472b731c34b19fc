/**
 * The log of one run: a new one, opened with the first turn, or an earlier one to go on with. Joins session/ and the
 * recorder. Refuses: reading or writing records itself.
 */
import { join } from "node:path";
import { UserError } from "../base/user-error.ts";
import type { Workspace } from "../base/workspace.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { Decisions } from "../session/decisions.ts";
import { ownerOf } from "../session/ids.ts";
import { newSessionId, openSessionLog, type SessionLog } from "../session/log.ts";
import { directoryProblem, ignoreProblem } from "../session/log-directory.ts";
import type { RecordedSource } from "../session/recorded-sources.ts";
import type { PendingSummary } from "../session/replay.ts";
import type { Emit, RunEvent } from "../types/event.ts";
import type { Message } from "../types/message.ts";
import { createRecorder, hasRecord, sessionMeta } from "./recorder.ts";
import { version } from "./version.ts";
import { warmUpFor } from "./warm-up.ts";

export type SessionRequest = {
  readonly workspace: Workspace;
  readonly loaded: LoadedConfig;
  readonly ephemeral: boolean;
  /** As somebody typed it for this run (`--session-dir`): it must be one that can hold a log. */
  readonly givenDir?: string | undefined;
  /** An id, a unique prefix, or `latest`. */
  readonly resume: string | undefined;
  /** Of a new session; a fresh one when it is not given. */
  readonly id?: string;
  readonly provider: string;
  readonly model: string;
  readonly redact: (text: string) => string;
  readonly emit: Emit;
};

export type OpenedSession = {
  readonly id: string;
  readonly path?: string;
  /** Undefined when ephemeral. */
  readonly dir: string | undefined;
  /** Every event goes through this first. */
  readonly record: Emit;
  readonly open?: (prompt: string) => Promise<SessionLog>;
  readonly failure: () => string | undefined;
  /** Closes whatever log is open and lets go of its lock. */
  readonly close: () => void;
  readonly history: readonly Message[];
  /** Parallel to `history`: the seq of the record each message began with. */
  readonly seqs: readonly number[];
  readonly turns: number;
  readonly sources: readonly RecordedSource[];
  /** Pins and drops in force. */
  readonly decisions: Decisions;
  /** Paths of the skills in use. */
  readonly skills: readonly string[];
  /** A summary that waits for its review. */
  readonly pending?: PendingSummary | undefined;
  /** `provider/id` that a resumed session was last used with. */
  readonly lastModel?: string | undefined;
};

const NOTHING = { history: [], seqs: [], turns: 0, sources: [], decisions: { pins: [], drops: [] }, skills: [] } as const;

/** @throws UserError when the session to resume does not exist or another process writes it, or its directory can be none. */
export async function openSession(request: SessionRequest): Promise<OpenedSession> {
  const { workspace, loaded, redact, emit } = request;
  if (request.ephemeral) {
    return {
      ...NOTHING,
      id: request.id ?? newSessionId(new Date()),
      dir: undefined,
      record: () => undefined,
      failure: () => undefined,
      close: () => undefined,
    };
  }
  const dir = loaded.config.sessionDir ?? join(workspace.root, ".thndrs", "sessions");
  const problem = request.givenDir === undefined ? undefined : directoryProblem(dir);
  if (problem !== undefined) throw new UserError(`--session-dir ${request.givenDir}: ${problem}`);
  // A place that somebody chose may be anywhere.
  const bounds = loaded.config.sessionDir === undefined ? { within: workspace.root } : {};
  let failure: string | undefined;
  let record: ((event: RunEvent) => void) | undefined;
  const onBroken = (message: string, why: string): void => {
    failure = why;
    emit({ type: "diagnostic", diagnostic: { severity: "warning", code: "session_log", message } });
  };
  let opened: SessionLog | undefined;
  const begin = (log: SessionLog): SessionLog => {
    opened = log;
    const message = log.healthy ? ignoreProblem(dir) : undefined;
    if (message) emit({ type: "diagnostic", diagnostic: { severity: "warning", code: "session_ignore", message } });
    record = createRecorder({ log, redact });
    return log;
  };
  // What happens before the first turn opens the log (a pinned file, say) is recorded right after the session's first record.
  const early: RunEvent[] = [];
  const keep = (event: RunEvent): void => {
    if (record) record(event);
    else if (hasRecord(event)) early.push(event);
  };
  const shared = { dir, record: keep, failure: () => failure, close: () => opened?.close() };
  if (request.resume !== undefined) {
    // Lazy door: only a resumed run pays for reading.
    const { resumeSession } = await import("../session/resume.ts");
    const resumed = await resumeSession(dir, request.resume, {
      ...bounds,
      owner: ownerOf(dir, workspace.root),
      onBroken,
      reading: warmUpFor,
      diagnose: (diagnostic) => emit({ type: "diagnostic", diagnostic }),
    });
    const log = begin(resumed.log);
    return {
      ...shared,
      id: log.id,
      path: log.path,
      open: async () => log,
      history: resumed.messages,
      seqs: resumed.seqs,
      turns: resumed.turns,
      sources: resumed.sources,
      decisions: resumed.decisions,
      skills: resumed.skills,
      pending: resumed.pendingCompaction,
      lastModel: resumed.model,
    };
  }
  const id = request.id ?? newSessionId(new Date());
  const open = async (prompt: string): Promise<SessionLog> => {
    const log = begin(await openSessionLog({ dir, id, onBroken, ...bounds }));
    log.append(
      sessionMeta({
        sessionId: id,
        cwd: workspace.cwd,
        workspace: workspace.root,
        prompt,
        provider: request.provider,
        model: request.model,
        websearch: loaded.config.web.search,
        appVersion: version,
        files: loaded.config.files,
        origins: loaded.config.origins,
        redact,
      }),
    );
    for (const event of early.splice(0)) record?.(event);
    return log;
  };
  return { ...shared, ...NOTHING, id, path: join(dir, `${id}.jsonl`), open };
}
