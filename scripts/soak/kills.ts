/** Sessions that are killed at random moments and gone on with, on every wire. Refuses: what a kill does (test/support/kill-fuzz.ts). */
import { killAndResume } from "../../test/support/kill-fuzz.ts";

/** Prints a line for each wire; what is wrong, in words. Kills are shared out over the wires. */
export async function runKills(kills: number, seed: number): Promise<string[]> {
  const wrong: string[] = [];
  for (const [index, wire] of (["chat", "responses", "anthropic"] as const).entries()) {
    const share = Math.floor((kills + index) / 3);
    try {
      const { rounds, killed, records, open } = await killAndResume({ kills: share, seed: seed + index, wire });
      console.log(
        `${wire}\t${killed} of ${rounds} runs killed\t${records} records, none lost\t${open} calls left open by a kill`,
      );
    } catch (error) {
      wrong.push(`${wire}, seed ${seed + index}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return wrong;
}
