/** Runs commands in turn, measures each from outside, and sums up with medians. Refuses: knowing what is measured. */

export type Sample = {
  /** Start to exit, ms. */
  readonly wallMs: number;
  /** User + system time, ms. */
  readonly cpuMs: number;
  /** Start to the first request, ms; only where there is a server. */
  readonly firstRequestMs?: number;
  readonly stdoutBytes: number;
};

export type Contestant = {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Called right before the start, outside the clock. Says afterwards when the first request arrived. */
  readonly prepare?: () => () => number | undefined;
};

/** Runs one contestant once. Throws when it fails: a failed run is not a fast run. */
export async function sample(contestant: Contestant): Promise<Sample> {
  const firstRequest = contestant.prepare?.();
  const started = performance.now();
  const child = Bun.spawn([...contestant.command], {
    cwd: contestant.cwd,
    env: { ...contestant.env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).bytes(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const wallMs = performance.now() - started;
  if (child.exitCode !== 0)
    throw new Error(`${contestant.command.join(" ")} ended with ${child.exitCode ?? child.signalCode}\n${stderr}`);
  const used = child.resourceUsage();
  const arrived = firstRequest?.();
  return {
    wallMs,
    cpuMs: Number(used?.cpuTime.total ?? 0) / 1000,
    ...(arrived === undefined ? {} : { firstRequestMs: arrived - started }),
    stdoutBytes: stdout.byteLength,
  };
}

/** `rounds` samples of each, interleaved so that a noisy moment hits all alike; the first round only warms the caches. */
export async function race<Name extends string>(
  contestants: Readonly<Record<Name, Contestant>>,
  rounds: number,
): Promise<Record<Name, Sample[]>> {
  const names = Object.keys(contestants) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, [] as Sample[]])) as Record<Name, Sample[]>;
  for (let round = 0; round <= rounds; round++) {
    for (const name of names) {
      const one = await sample(contestants[name]);
      if (round > 0) samples[name].push(one);
    }
  }
  return samples;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = Number.NaN, high = Number.NaN] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]];
  return (low + high) / 2;
}

/** Highest resident size so far, MiB. Not from rusage: there a child starts with the size of the process that forked it. */
async function residentPeak(pid: number): Promise<number | undefined> {
  const status = await Bun.file(`/proc/${pid}/status`)
    .text()
    .catch(() => "");
  const found = /^VmHWM:\s+(\d+) kB/m.exec(status);
  return found ? Number(found[1]) / 1024 : undefined;
}

/** Peak memory of one run in MiB, read while it runs (Linux; NaN elsewhere). The server must linger at the end. */
export async function peakMemory(contestant: Contestant): Promise<number> {
  contestant.prepare?.();
  const child = Bun.spawn([...contestant.command], {
    cwd: contestant.cwd,
    env: { ...contestant.env },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  let peak = Number.NaN;
  while (child.exitCode === null && child.signalCode === null) {
    peak = (await residentPeak(child.pid)) ?? peak;
    await Bun.sleep(1);
  }
  if (child.exitCode !== 0) throw new Error(`${contestant.command.join(" ")} ended with ${child.exitCode ?? child.signalCode}`);
  return peak;
}
