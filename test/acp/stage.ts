/** A conversation that a fake agent drives, in a fresh workspace and home. For the tests of acp/ and app/acp-*. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type OpenedRuntime, type OpenOptions, openRuntime } from "../../src/app/open.ts";
import { createProcessOwner } from "../../src/base/process.ts";
import type { RunEvent } from "../../src/types/event.ts";
import { type Files, tempDir } from "../support/temp.ts";

export const FAKE = join(import.meta.dir, "fake-agent.ts");

/** A user configuration with the fake agent in each mode: `acp:MODE`. */
export function fakeConfig(modes: readonly string[], log: string, more = ""): string {
  const agents = modes.map(
    (mode) => `[acp.agents.${mode}]
command = ${JSON.stringify(process.execPath)}
args = ${JSON.stringify([FAKE, mode, log])}
timeout_secs = 2
env = { FAKE_DECLARED = "declared" }
`,
  );
  return `${more}\n${agents.join("\n")}`;
}

export type Stage = AsyncDisposable & {
  readonly opened: OpenedRuntime;
  readonly events: readonly RunEvent[];
  readonly workspace: string;
  /** What the agent received, parsed. */
  heard(): Record<string, unknown>[];
  /** Process ids of the agents that were started. */
  pids(): number[];
  /** The records of the session's log. */
  records(): Record<string, unknown>[];
  /** Resolves with the first event (also one that was there before) that fits. */
  event(fits: (event: RunEvent) => boolean): Promise<RunEvent>;
};

export type StageOptions = {
  readonly mode: string;
  readonly files?: Files;
  readonly config?: string;
  readonly env?: Record<string, string>;
  readonly flags?: OpenOptions["flags"];
  readonly ask?: OpenOptions["ask"];
  /** Goes on in the directories of an earlier stage. */
  readonly after?: Stage;
};

const homes = new WeakMap<Stage, Awaited<ReturnType<typeof tempDir>>>();
const places = new WeakMap<Stage, Awaited<ReturnType<typeof tempDir>>>();

/** Opens it; disposing closes the runtime and, unless a later stage goes on with them, the directories. */
export async function openStage(options: StageOptions): Promise<Stage> {
  const home = (options.after && homes.get(options.after)) ?? (await tempDir());
  const place = (options.after && places.get(options.after)) ?? (await tempDir(options.files ?? {}));
  const log = home.at("heard.jsonl");
  await home.write({ "thndrs/config.toml": fakeConfig([options.mode], log, options.config) });
  const processes = createProcessOwner();
  const opened = await openRuntime({
    env: { PATH: "/usr/bin:/bin", HOME: home.path, XDG_CONFIG_HOME: home.path, ...options.env },
    cwd: place.path,
    processes,
    rendererMode: "print",
    flags: { model: `acp:${options.mode}`, ...options.flags },
    ...(options.ask && { ask: options.ask }),
    ...(options.after && { resume: "latest" }),
  });
  const events: RunEvent[] = [];
  const waiters: { fits: (event: RunEvent) => boolean; resolve: (event: RunEvent) => void }[] = [];
  opened.runtime.subscribe((event) => {
    events.push(event);
    for (const waiter of waiters.filter((one) => one.fits(event))) waiter.resolve(event);
  });
  const lines = (path: string | undefined): Record<string, unknown>[] =>
    path === undefined || !existsSync(path)
      ? []
      : readFileSync(path, "utf8")
          .trimEnd()
          .split("\n")
          // The agent may just have made the file.
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line));
  const stage: Stage = {
    opened,
    events,
    workspace: place.path,
    heard: () => lines(log).filter((message) => !("pid" in message)),
    pids: () => lines(log).flatMap((message) => (typeof message.pid === "number" ? [message.pid] : [])),
    records: () => lines(opened.runtime.sessionPath),
    event: (fits) => {
      const here = events.find(fits);
      return here ? Promise.resolve(here) : new Promise((resolve) => waiters.push({ fits, resolve }));
    },
    [Symbol.asyncDispose]: async () => {
      await opened.runtime.close();
      await processes.reapAll();
      if (options.after) return;
      home.remove();
      place.remove();
    },
  };
  homes.set(stage, home);
  places.set(stage, place);
  return stage;
}
