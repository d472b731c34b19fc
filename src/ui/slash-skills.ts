/** `/skills [NAME]`: picks a skill whose text goes with the next message. Refuses: delivering it (app/, skills/). */
import type { Repl } from "./repl.ts";
import { visible } from "./sanitize.ts";

/** Names that may stand after `/skills`. */
export function skillNames(repl: Repl): readonly string[] {
  return repl.controls.skills.byName().map((skill) => skill.name);
}

/** `/skills [NAME]`. What is sent meanwhile is the message it goes with. */
export async function pickSkill(repl: Repl, words: readonly string[]): Promise<void> {
  await repl.busy("choosing", (signal) => pick(repl, words, signal));
}

async function pick(repl: Repl, words: readonly string[], signal: AbortSignal): Promise<void> {
  const { skills } = repl.controls;
  await skills.refresh();
  const all = skills.byName();
  let [name] = words;
  if (all.length === 0) {
    repl.say(['no skills ("thndrs help skills" says where they are looked for)']);
    return;
  }
  name ??= await repl.pick({
    message: "Which skill for your next message?",
    signal,
    choices: all.map((skill) => {
      const marks = [
        skill.source,
        ...(skill.trust === "trusted" ? [] : ["not trusted"]),
        ...(skills.isActive(skill) ? ["in use"] : []),
      ];
      return { value: skill.name, label: skill.name, hint: `${marks.join(", ")}: ${skill.description}` };
    }),
  });
  if (name === undefined) return;
  const picked = skills.pick(name.replace(/^\$/, ""));
  if (!picked.ok) repl.error(visible(picked.message));
  else if (skills.isActive(picked.skill)) repl.say([`${picked.skill.name} is in use already`]);
  else repl.say([`${picked.skill.name} goes with your next message (${visible(picked.skill.path)})`]);
}
