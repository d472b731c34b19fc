/**
 * Kills a run around its compactions and goes on with it each time: while the summary is asked for, when it has just been
 * answered, right after its record was written, and at seeded moments in between. The conversation is then the one before or
 * the one after, never a mixture. Refuses: knowing a test framework.
 */
import { readFileSync } from "node:fs";
import { type Step, startLoopback } from "../../test/support/loopback.ts";
import { modelEnv } from "../../test/support/model.ts";
import { type Running, startThndrs } from "../../test/support/run.ts";
import { tempDir } from "../../test/support/temp.ts";
import type { Wire } from "../../test/support/wire/answer.ts";
import { createRandom } from "./random.ts";
import { judgeRequest, logFile, mixture, modelConfig, WINDOW } from "./window.ts";
import { createWindowModel, FILES, PROMPT } from "./window-model.ts";

export type CrashOptions = { readonly kills: number; readonly seed: number; readonly wire: Wire };
export type CrashReport = {
  readonly kills: ReadonlyMap<string, number>;
  readonly compactions: number;
  readonly turns: number;
  readonly problems: readonly string[];
};

const MOMENTS = ["summary open", "summary answered", "record written", "some time after"] as const;
type Moment = (typeof MOMENTS)[number];

const compactionsIn = (text: string): number => text.split('"type":"compaction"').length - 1;

/** Waits, without a pause between looks, until the log holds another compaction record than before. */
async function written(path: () => string | undefined, before: number, over: () => boolean): Promise<void> {
  while (!over()) {
    const file = path();
    if (file !== undefined && compactionsIn(readFileSync(file, "utf8")) > before) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Goes on until `kills` processes were killed, then to a clean end. */
export async function crashCompactions({ kills, seed, wire }: CrashOptions): Promise<CrashReport> {
  const random = createRandom(seed);
  await using home = await tempDir({ "config.toml": modelConfig(wire, WINDOW) });
  await using dir = await tempDir(FILES);
  const done = new Map<string, number>();
  const problems: string[] = [];
  const turns = 20 + kills * 12;
  let running: Running | undefined;
  let killed = false;
  let total = 0;
  let next: Moment | undefined;
  const file = (): string | undefined => logFile(dir.path);
  const kill = (moment: Moment): void => {
    if (killed || running === undefined) return;
    killed = true;
    total += 1;
    done.set(moment, (done.get(moment) ?? 0) + 1);
    running.signal("SIGKILL");
  };
  const model = createWindowModel({
    turns,
    wire,
    count: true,
    inspect: (seen, summary, turn): Partial<Step> | undefined => {
      if (!summary) {
        problems.push(...judgeRequest(seen, wire, turn, turns));
        if (next === "summary answered") kill(next);
        next = undefined;
        return undefined;
      }
      if (total >= kills) return undefined;
      // Each moment in turn, so that a short run meets all of them.
      const moment = MOMENTS[total % MOMENTS.length] ?? "summary open";
      next = moment;
      if (moment === "summary open") {
        kill(moment);
        return { hang: true };
      }
      if (moment === "record written") {
        const path = file();
        const before = path === undefined ? 0 : compactionsIn(readFileSync(path, "utf8"));
        void written(file, before, () => killed).then(() => kill(moment));
      }
      if (moment === "some time after") setTimeout(() => kill(moment), random.below(12));
      return undefined;
    },
  });
  const server = await startLoopback(model.script);
  try {
    const env = { ...modelEnv(server.baseUrl, wire), THNDRS_HOME: home.path };
    for (let first = true; ; first = false) {
      killed = false;
      next = undefined;
      model.startRun();
      const args = [...(first ? ["-p", PROMPT] : ["-c", "-p", "go on"]), "--quiet"];
      running = await startThndrs({ args, cwd: dir.path, env, timeoutMs: 120_000 });
      const { code, stderr } = await running.exited;
      const path = file();
      if (path !== undefined) problems.push(...(await mixture(path)).map((one) => `after ${total} kills: ${one}`));
      if (killed) continue;
      if (code !== 0) problems.push(`exit ${code} after ${total} kills: ${stderr.slice(-300)}`);
      killed = true;
      break;
    }
    if (model.turns() < turns) problems.push(`the work ended at turn ${model.turns()} of ${turns}`);
    problems.push(...server.violations.slice(0, 3));
    const compactions = compactionsIn(readFileSync(file() ?? "/dev/null", "utf8"));
    return { kills: done, compactions, turns: model.turns(), problems };
  } finally {
    await server.close({ ignoreViolations: true });
  }
}
