/** How much of each activated skill the conversation holds, from the run's events. Refuses: knowing skills. */
import type { Skills } from "../skills/skills.ts";
import type { Emit } from "../types/event.ts";
import type { LedgerSkill } from "./ledger.ts";

export interface HeldSkills {
  readonly event: Emit;
  /** The run's skills for the ledger. */
  read(): readonly LedgerSkill[];
}

/** Listens to one run's events from its begin. */
export function createHeldSkills(skills: Pick<Skills, "list" | "isActive">): HeldSkills {
  const sizes = new Map<string, number>();
  return {
    event(event) {
      if (event.type !== "effect" || event.effect.kind !== "skill_activated") return;
      const { path, byteCount, references } = event.effect;
      sizes.set(
        path,
        references.reduce((sum, reference) => sum + reference.byteCount, byteCount),
      );
    },
    read: () =>
      skills.list().map((skill) => {
        const { name, path, contentHash, byteCount } = skill;
        const heldBytes = skills.isActive(skill) ? (sizes.get(path) ?? 0) : 0;
        return { name, path, contentHash, byteCount, heldBytes };
      }),
  };
}
