/** The only reader of `process.env` (house rule 7). Refuses: `.env` files of any kind, defaults, writing to the environment. */

export type Environment = Readonly<Record<string, string | undefined>>;

/** A frozen copy of the environment this process was started with. */
export function readEnvironment(): Readonly<Record<string, string>> {
  const copy: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) copy[name] = value;
  return Object.freeze(copy);
}
