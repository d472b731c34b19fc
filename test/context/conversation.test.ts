import { expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import type { Delivery } from "../../src/context/engine.ts";
import { pick, seededRandom } from "../support/random-tree.ts";
import { type Bench, bench } from "./bench.ts";

const PLACES = ["", "a", "a/b", "a/b/c", "d", "d/e", "f"];
/** The order of C2, in the spellings used here. */
const ORDER = ["agents.override.md", "AGENTS.md", "CLAUDE.md"];
const NAMES = ["AGENTS.md", "CLAUDE.md", "agents.override.md"];

/** Every text carries a mark of its own, so that a repetition is seen wherever it stands. */
function marks(text: string): string[] {
  return text.match(/MARK-\d+/g) ?? [];
}

class Play {
  readonly b: Bench;
  readonly #random: () => number;
  #next = 0;
  #cwd = "";
  /** Marks in the conversation since the last compaction. */
  #held = new Set<string>();
  /** Path → the mark it was last sent with. */
  readonly #said = new Map<string, string>();

  constructor(b: Bench, random: () => number) {
    this.b = b;
    this.#random = random;
  }

  #anyFile(): string {
    const name = this.#random() < 0.5 ? "file.ts" : pick(this.#random, NAMES);
    return [pick(this.#random, PLACES), name].filter((part) => part !== "").join("/");
  }

  async change(): Promise<void> {
    if (this.#random() < 0.2) {
      const text = this.#random() < 0.2 ? "" : `MARK-${++this.#next} @/x @f/CLAUDE.md`;
      await this.b.dir.write({ [`repo/${pick(this.#random, PLACES.slice(1))}/file.ts`]: text });
      return;
    }
    const path = ["repo", pick(this.#random, PLACES), pick(this.#random, NAMES)].filter((part) => part !== "").join("/");
    if (this.#random() < 0.3) rmSync(this.b.dir.at(path), { force: true });
    else
      await this.b.dir.write({
        [path]: `MARK-${++this.#next}${this.#random() < 0.2 ? " @/x @f/CLAUDE.md @../a/AGENTS.md" : ""}`,
      });
  }

  /** Within one conversation no text comes twice. */
  hear(delivery: Delivery): void {
    // What was taken back may be said again.
    for (const [, path = ""] of delivery.text.matchAll(/<source path="([^"]+)"[^>]* status="(?:removed|withdrawn)"/g)) {
      this.#held.delete(this.#said.get(path) ?? "");
    }
    for (const [, path = "", mark = ""] of delivery.text.matchAll(/<source path="([^"]+)"[^>]*>\n(MARK-\d+)/g))
      this.#said.set(path, mark);
    for (const mark of marks(delivery.text)) {
      expect(this.#held.has(mark)).toBe(false);
      this.#held.add(mark);
    }
    const paths = delivery.sources.map((source) => source.path);
    expect(new Set(paths).size).toBe(paths.length);
  }

  /** At a turn boundary what the ledger calls visible is what the disk holds and the conversation heard. */
  async check(): Promise<void> {
    const dropped = new Set(this.b.engine.drops().map(({ path, contentHash }) => `${path} ${contentHash}`));
    for (const source of this.b.engine.sources()) {
      const isDropped = source.state === "dropped";
      if (isDropped || source.state === "visible")
        expect({ ...source, isDropped }).toEqual({ ...source, isDropped: dropped.has(`${source.path} ${source.contentHash}`) });
      if (source.state !== "visible") continue;
      const [mark] = marks(await Bun.file(source.path).text());
      expect({ path: source.path, heard: mark !== undefined && this.#held.has(mark) }).toEqual({
        path: source.path,
        heard: true,
      });
    }
  }

  /** The instruction file of each directory from the root to `place` must be there. */
  expectGoverned(place: string): void {
    const parts = place === "" ? [] : place.split("/");
    const fine = new Set(["visible", "dropped"]);
    const visible = new Set(this.b.engine.sources().flatMap(({ path, state }) => (fine.has(state) ? [path] : [])));
    for (let depth = 0; depth <= parts.length; depth++) {
      const directory = this.b.at(...parts.slice(0, depth));
      const path = ORDER.map((name) => `${directory}/${name}`).find((file) => existsSync(file));
      if (path !== undefined) expect({ path, visible: visible.has(path) }).toEqual({ path, visible: true });
    }
  }

  /** An old tool result, and what came with it, gives way. */
  lose(): void {
    const nested = this.b.engine.sources().filter(({ state, origin }) => state === "visible" && origin === "nested");
    if (nested.length === 0) return;
    const { path, contentHash } = pick(this.#random, nested);
    this.#held.delete(this.#said.get(path) ?? "");
    this.b.engine.lost([{ path, contentHash }]);
  }

  async step(): Promise<void> {
    const { engine } = this.b;
    const place = pick(this.#random, PLACES);
    const dice = this.#random();
    if (dice < 0.35) await this.change();
    else if (dice < 0.6) this.hear(await engine.touched([{ path: this.b.at(place, "file.ts"), kind: "read" }]));
    else if (dice < 0.65) {
      engine.changeDirectory(this.b.at(place));
      this.#cwd = place;
    } else if (dice < 0.7) await engine.pin(this.#random() < 0.5 ? this.#anyFile() : place === "" ? "." : place);
    else if (dice < 0.72) this.lose();
    else if (dice < 0.75) {
      this.#held = new Set();
      this.hear(await engine.compacted([]));
    } else if (dice < 0.8) await engine.drop(this.#random() < 0.7 ? this.#anyFile() : place);
    else if (dice < 0.82) await engine.resetDrops(this.#random() < 0.5 ? place : undefined);
    else {
      this.hear(await engine.turn(place === "" ? "hello" : `look at ${place}/file.ts`));
      await this.check();
      this.expectGoverned(place);
      this.expectGoverned(this.#cwd);
    }
  }
}

test("C4 C10 C11 random conversations with pins, drops and losses: no text twice, and the ledger tells the truth at every turn boundary", async () => {
  for (let seed = 1; seed <= 25; seed++) {
    await using b = await bench(
      Object.fromEntries(PLACES.map((place) => [`repo/${place === "" ? "" : `${place}/`}file.ts`, ""])),
    );
    const random = seededRandom(seed);
    const play = new Play(b, random);
    for (let at = 0; at < 6; at++) await play.change();
    play.hear(await b.engine.start());
    for (let at = 0; at < 60; at++) {
      try {
        await play.step();
      } catch (error) {
        throw new Error(`seed ${seed}, step ${at}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
}, 30_000);
