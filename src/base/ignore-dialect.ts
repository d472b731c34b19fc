/**
 * Ignore rules that rg and fd do not read the way git does, whose reading is the one that counts. Errs on the side of yes.
 * Refuses: applying rules.
 */

/** Braces are alternatives for them; they trim more than spaces; their classes know no names and match slashes. */
export function isReadOtherwise(rule: string): boolean {
  if (/[^ ]/.test(rule.slice(rule.trimEnd().length)) || escapesInClass(rule)) return true;
  const body = withoutSpaces(rule.replace(/^!/, "").replace(/\\[^/]/g, "x"));
  return (
    /[{}\\]/.test(body) || body.replace(CLASS, (_, ...groups) => (groups.slice(0, 3).every(isPlain) ? "x" : "[")).includes("[")
  );
}

/** A backslash behind a bracket that nothing has closed. By hand, as all of this: a rule may be a megabyte long. */
function escapesInClass(rule: string): boolean {
  let open = false;
  for (let at = 0; at < rule.length; at++) {
    const character = rule[at];
    if (character === "[") open = true;
    else if (character === "]") open = false;
    else if (character === "\\" && open) return true;
  }
  return false;
}

function withoutSpaces(rule: string): string {
  let end = rule.length;
  while (rule.charCodeAt(end - 1) === 32) end--;
  return rule.slice(0, end);
}

/** A negated class is read alike at the edges of a name, where it has no slash to match. */
const CLASS = /(?:(?<=^|\/)\[[!^]([\w.,@~#%=;+$& -]+)\]|\[[!^]([\w.,@~#%=;+$& -]+)\](?=\/|$)|\[([\w.,@~#%=;+$& -]+)\])/g;

/** Ranges of letters or of digits, in order. */
function isPlain(members = ""): boolean {
  const ranges = members.replace(/^-|-$/g, "").match(/.?-.?/g) ?? [];
  return ranges.every((range) => /^(?:[a-z]-[a-z]|[A-Z]-[A-Z]|\d-\d)$/.test(range) && range.charCodeAt(0) <= range.charCodeAt(2));
}
