/** `nohup thndrs -p …` died when its terminal did: a listener of ours ended the ignoring. */
import { expect, test } from "bun:test";
import { binary } from "../support/launch.ts";
import { startModel } from "../support/model.ts";
import { startThndrs } from "../support/run.ts";

const linux = process.platform === "linux";

test.if(linux)("an ignored SIGHUP, SIGQUIT or SIGUSR1 stays ignored; one that is not ends the run", async () => {
  for (const [signal, start, code] of [
    ["SIGHUP", "trap '' HUP;", 0],
    ["SIGHUP", "", 129],
    ["SIGQUIT", "trap '' QUIT;", 0],
    ["SIGQUIT", "", 131],
    ["SIGUSR1", "trap '' USR1;", 0],
    ["SIGUSR1", "", 138],
  ] as const) {
    await using model = await startModel([{ text: ["x", "y"], hold: { gate: "answer", at: 1 } }]);
    const script = `${start} exec "$0" -p hi`;
    await using running = await startThndrs({ command: ["/bin/sh", "-c", script, binary], env: model.env });
    await model.server.request(1);
    running.signal(signal);
    if (code === 0) model.server.release("answer");
    expect((await running.exited).code).toBe(code);
  }
});
