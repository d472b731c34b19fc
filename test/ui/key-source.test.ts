import { expect, test } from "bun:test";
import { join } from "node:path";

/** Runs the child on a terminal, answers each "press" with the next keys, and gives what it said. */
async function play(keys: readonly string[]): Promise<readonly string[]> {
  const decoder = new TextDecoder();
  let seen = "";
  let pressed = 0;
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "keys-child.ts")], {
    terminal: {
      cols: 71,
      rows: 13,
      data(terminal, data) {
        seen += decoder.decode(data, { stream: true });
        while (seen.split("press\r\n").length - 1 > pressed && pressed < keys.length) terminal.write(keys[pressed++] ?? "");
      },
    },
    timeout: 20_000,
  });
  expect(await child.exited).toBe(0);
  child.terminal?.close();
  return seen.split("\r\n").filter((line) => line !== "" && line !== "press");
}

test("keys go to whoever reads: to us between start and stop, in raw mode, then to another program, again and again", async () => {
  const said = await play(["a", "b\r", "\x03", "d\r", "\x1b[A", "f\r"]);
  const raw = "raw true -isig -icanon -echo";
  const round = (own: string, other: string) => [raw, `got ${own}`, "isig icanon echo", other, `another got ${other}`];
  expect(said).toEqual(["terminal true true size 71,13", ...round("a", "b"), ...round("\x03", "d"), ...round("\x1b[A", "f")]);
});
