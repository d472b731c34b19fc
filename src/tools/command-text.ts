/** A command as one readable line. For eyes only: nothing ever runs this text. */
import { cutChars } from "../base/text.ts";

const MAX_COMMAND_CHARS = 200;

/** Words joined by spaces, quoted where they need it, cut at 200 characters. */
export function sayCommand(argv: readonly string[]): string {
  const line = argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
  const flat = line.replace(/\s+/g, (space) => (space.includes("\n") ? " ⏎ " : space));
  return flat.length <= MAX_COMMAND_CHARS ? flat : `${cutChars(flat, MAX_COMMAND_CHARS)}…`;
}
