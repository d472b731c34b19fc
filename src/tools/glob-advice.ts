/** A line for a glob that found nothing and was probably meant otherwise than it is read. Refuses: matching. */

/** What stands outside of `{…}`, `[…]` and escapes. */
const GROUPS = /\\[\s\S]|\[[!^]?[^/][^\]/]*\]|\{[^{}]*\}/g;
/** A longer one is not looked at. */
const MAX_CHARS = 1000;

export function globAdvice(globs: readonly (string | undefined)[]): string[] {
  const advice = globs.flatMap((glob) => (glob === undefined || glob.length > MAX_CHARS ? [] : (adviceOn(glob) ?? [])));
  return advice.slice(0, 1).map((words) => `[${words}]`);
}

function adviceOn(glob: string): string | undefined {
  // Twice: braces may hold braces.
  const outside = glob.replace(GROUPS, "").replace(GROUPS, "");
  const open = /[{[]/.exec(outside)?.[0];
  if (open !== undefined) return `the ${open} in ${JSON.stringify(glob)} is not closed`;
  if (/[,|;]/.test(outside)) {
    const parts = glob.split(/[,|;]/).map((part) => part.trim());
    return `${JSON.stringify(glob)} is one pattern; several are written {${parts.filter((part) => part !== "").join(",")}}`;
  }
  if (/\\|^\^|\$$|\.[+]/.test(glob)) {
    const plain = glob.replace(/\\(.)/g, "$1").replace(/^\^|\$$/g, "");
    return `${JSON.stringify(glob)} is read as a glob or a part of the path, not as a regular expression; perhaps ${JSON.stringify(plain)}`;
  }
  if (glob.endsWith("/*")) return `* stands for names in one directory; ${JSON.stringify(`${glob}*`)} goes further down`;
  return undefined;
}
