/** L03 with somebody else at the terminal: thndrs is told to end while the person's editor is open; Ctrl+C stays the editor's. */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { runningWith } from "../support/processes.ts";
import { Terminal } from "../support/pty.ts";
import { tempDir } from "../support/temp.ts";
import { type ReplStage, sourceOrBinary, startRepl } from "../ui/repl-stage.ts";

const COOKED = { canonical: true, echo: true, signals: true };
const RAW = { canonical: false, echo: false, signals: false };
/** Of this run of the tests alone. */
const NAP = `sleep 98.${process.pid}`;
/** Says whose editor it is. */
const OPEN = `printf 'EDITOR OF %s.\\r\\n' $PPID`;
/** The same, with the keys for itself as most editors have them. */
const OPEN_RAW = `stty raw -echo; ${OPEN}`;
/** Stays when thndrs has ended, so that what is left can be seen before the tests clear up. */
const WRAPPED = ["/bin/sh", "-c", `"$@"; echo "ENDED $?"; read _`, "sh", ...sourceOrBinary()];

type Editing = ReplStage & {
  /** The process id of thndrs, whatever it was started by. */
  readonly thndrs: number;
  /** Files of the editor that are there. */
  edited(): readonly string[];
  /** Editors that run, and what they have started. */
  editors(): readonly number[];
};

/** The REPL with one turn behind it and `script` open as the editor. */
async function startEditing(script: string, command?: readonly string[]): Promise<Editing> {
  const home = await tempDir();
  const stage = await startRepl([{ text: "the answer" }, { text: "still here" }], {
    ...(command && { command }),
    files: { "an ed.sh": script },
    env: { EDITOR: "sh 'an ed.sh'", THNDRS_HOME: home.path },
  });
  const { terminal } = stage;
  stage.send("question");
  await terminal.waitFor("the answer");
  terminal.write("draft");
  await terminal.waitFor("❯ draft");
  terminal.press("ctrl+g");
  await terminal.waitFor(/EDITOR OF \d+\./);
  return {
    ...stage,
    thndrs: Number(/EDITOR OF (\d+)\./.exec(terminal.raw())?.[1]),
    edited: () => readdirSync(join(home.path, "state")).filter((name) => name.startsWith("input")),
    // The file stands in the editor's command line.
    editors: () => [...runningWith(home.path), ...runningWith(NAP)],
    [Symbol.asyncDispose]: async () => {
      await stage[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

function expectTidy({ terminal, edited, editors }: Editing): void {
  expect(editors()).toEqual([]);
  expect(edited()).toEqual([]);
  expect(terminal.lineMode()).toEqual(COOKED);
  expect(terminal.screen.modes.has(2004)).toBe(false);
  expect(terminal.screen.modes.has(25)).toBe(true);
}

for (const [signal, code] of [
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  test(`L03 ${signal} while the editor is open ends the editor too, and the terminal is given back`, async () => {
    await using stage = await startEditing(`${NAP} & ${OPEN_RAW}; wait`);
    const { terminal } = stage;
    expect(terminal.lineMode()).toEqual(RAW);
    expect(stage.edited()).toHaveLength(1);
    terminal.signal(signal);
    expect(await terminal.exited).toMatchObject({ code, leftovers: [] });
    expectTidy(stage);
    expect(terminal.screen.everything()).not.toContain("editor failed");
    // What is said at the end stands below the editor, not under it.
    expect(terminal.raw().slice(terminal.raw().indexOf("EDITOR OF"))).toContain("thndrs --resume");
  });
}

test("L03 an editor that ignores SIGTERM is killed, with what it started", async () => {
  await using stage = await startEditing(`trap '' TERM; printf '\\033[?2004h\\033[?25l'; ${NAP} & ${OPEN_RAW}; wait`, WRAPPED);
  const { terminal } = stage;
  process.kill(stage.thndrs, "SIGTERM");
  await terminal.waitFor("ENDED 143");
  expectTidy(stage);
});

test("L03 the second SIGTERM does not wait for the editor, nor leave it behind", async () => {
  await using stage = await startEditing(`trap 'echo NOT YET' TERM; ${OPEN}; while :; do read _; done`, WRAPPED);
  const { terminal } = stage;
  process.kill(stage.thndrs, "SIGTERM");
  await terminal.waitFor("NOT YET");
  process.kill(stage.thndrs, "SIGTERM");
  await terminal.waitFor("ENDED 143");
  expect(stage.editors()).toEqual([]);
  // Said by whoever has the time.
  expect(terminal.raw()).not.toContain("--resume");
});

test("L03 the window is closed while the editor is open: both end, nothing stays behind", async () => {
  await using stage = await startEditing(`trap '' HUP; ${NAP} & ${OPEN_RAW}; wait`);
  stage.terminal.hangUp();
  expect(await stage.terminal.exited).toMatchObject({ code: 129, leftovers: [] });
  expect(stage.edited()).toEqual([]);
});

test("Ctrl+C in an editor that leaves it to the terminal is the editor's", async () => {
  const caught = `trap 'echo CAUGHT' INT; ${OPEN}; until read word && [ "$word" = done ]; do :; done`;
  await using stage = await startEditing(`${caught}; sed -i s/draft/edited/ "$1"`);
  const { terminal } = stage;
  terminal.press("ctrl+c");
  await terminal.waitFor("CAUGHT");
  terminal.write("done\r");
  await terminal.waitFor("❯ edited");
  terminal.press("enter");
  await terminal.waitFor("still here");
  expect(stage.userTexts(2).at(-1)).toBe("edited");
  terminal.press("ctrl+d");
  expect((await terminal.exited).code).toBe(0);
});

test("Ctrl+C that ends the editor does not end thndrs; the next one is thndrs' own again", async () => {
  await using stage = await startEditing(`${OPEN}; exec ${NAP}`);
  const { terminal } = stage;
  terminal.press("ctrl+c");
  await terminal.waitFor("the editor failed: your text is as it was");
  await terminal.waitFor((screen) => screen.currentLine() === "❯ draft");
  expect(stage.edited()).toEqual([]);
  process.kill(stage.thndrs, "SIGINT");
  expect((await terminal.exited).code).toBe(130);
});

test("SIGTERM while `config edit` has the editor open ends both", async () => {
  await using terminal = await Terminal.start({
    args: ["config", "edit"],
    command: sourceOrBinary(),
    files: { "ed.sh": `${NAP} & ${OPEN_RAW}; wait` },
    env: { EDITOR: "sh ed.sh" },
  });
  await terminal.waitFor(/EDITOR OF \d+\./);
  expect(terminal.lineMode()).toEqual(RAW);
  terminal.signal("SIGTERM");
  expect(await terminal.exited).toMatchObject({ code: 143, leftovers: [] });
  expect(terminal.lineMode()).toEqual(COOKED);
});
