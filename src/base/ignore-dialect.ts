/**
 * Ignore rules that rg and fd do not read the way git does, whose reading is the one that counts. Errs on the side of yes.
 * Refuses: applying rules.
 */

/** Braces are alternatives for them; they trim more than spaces; their classes know no names and match slashes. */
export function isReadOtherwise(rule: string): boolean {
  if (/[^\S ]\s*$/.test(rule) || /\[[^\]]*\\/.test(rule)) return true;
  const body = rule
    .replace(/^!/, "")
    .replace(/\\[^/]/g, "x")
    .replace(/ +$/, "");
  return (
    /[{}\\]/.test(body) || body.replace(CLASS, (_, ...groups) => (groups.slice(0, 3).every(isPlain) ? "x" : "[")).includes("[")
  );
}

/** A negated class is read alike at the edges of a name, where it has no slash to match. */
const CLASS = /(?:(?<=^|\/)\[[!^]([\w.,@~#%=;+$& -]+)\]|\[[!^]([\w.,@~#%=;+$& -]+)\](?=\/|$)|\[([\w.,@~#%=;+$& -]+)\])/g;

/** Ranges of letters or of digits, in order. */
function isPlain(members = ""): boolean {
  const ranges = members.replace(/^-|-$/g, "").match(/.?-.?/g) ?? [];
  return ranges.every((range) => /^(?:[a-z]-[a-z]|[A-Z]-[A-Z]|\d-\d)$/.test(range) && range.charCodeAt(0) <= range.charCodeAt(2));
}
