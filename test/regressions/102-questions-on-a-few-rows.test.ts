/** On a terminal of three or four rows an approval question showed the end of its frame only: neither what was asked nor the choice that Enter takes. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { flat, startRepl } from "../ui/repl-stage.ts";

for (const [columns, rows] of [
  [80, 4],
  [80, 3],
  [20, 4],
] as const) {
  test(`an approval question at ${columns}x${rows}: what is asked is said in full, the choice is in sight`, async () => {
    const argv = ["sh", "-c", "echo yes > made; echo the end of a command that is longer than the terminal is wide, by far"];
    await using stage = await startRepl([{ calls: [{ name: "run_shell", arguments: { argv } }] }, { text: "over" }], {
      columns,
      rows,
      ready: false,
      env: { THNDRS_APPROVAL: "shell" },
    });
    const { terminal } = stage;
    await terminal.waitFor((screen) => screen.currentLine() === "❯");
    stage.send("go");
    await terminal.waitFor((screen) => /● Yes,\s+(?:│ +)?once/.test(screen.text()));
    expect(terminal.screen.text()).toContain("◆  Allow");
    expect(flat(terminal)).toContain("terminaliswide,byfar");
    // Keys count after a moment, which a higher terminal tells of.
    terminal.resize(columns, 14);
    await terminal.waitFor("to navigate");
    terminal.resize(columns, rows);
    const marked = (label: string): Promise<void> =>
      terminal.waitFor((screen) => new RegExp(`● (?:Yes[^○]*)?${label}`).test(screen.text()));
    await terminal.waitFor((screen) => !screen.text().includes("to navigate") && screen.text().includes("● Yes,"));
    for (const label of ["sessi", "proje", "No"]) {
      terminal.press("down");
      await marked(label);
    }
    terminal.press("enter");
    await terminal.waitFor("over");
    expect(existsSync(join(terminal.cwd, "made"))).toBe(false);
  });
}
