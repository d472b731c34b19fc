/**
 * What characters are called, how unseen ones are shown, and what they come down to when spelling details are ignored. Pure; for
 * explanations only. Refuses: deciding that two texts match.
 */

const NAMES: Readonly<Record<number, string>> = {
  9: "tab",
  10: "line feed",
  13: "carriage return",
  32: "space",
  34: "straight double quote",
  39: "straight apostrophe",
  45: "hyphen-minus",
  160: "no-break space",
  173: "soft hyphen",
  8203: "zero width space",
  8204: "zero width non-joiner",
  8205: "zero width joiner",
  8208: "hyphen",
  8209: "no-break hyphen",
  8211: "en dash",
  8212: "em dash",
  8216: "left single quote",
  8217: "right single quote",
  8220: "left double quote",
  8221: "right double quote",
  8230: "ellipsis",
  8232: "line separator",
  8239: "narrow no-break space",
  8722: "minus sign",
  12288: "ideographic space",
  65279: "byte order mark",
};

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}]/u;

function code(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** `U+00A0 (no-break space)`, `U+0061 (a)`, `its end`. */
export function named(character: string | undefined, end: string): string {
  if (character === undefined) return end;
  const name = NAMES[character.codePointAt(0) ?? 0] ?? (UNSEEN.test(character) ? "invisible" : character);
  return `${code(character)} (${name})`;
}

/** The text with everything but plain spaces visible. */
export function visible(text: string): string {
  return [...text].map((one) => (one !== " " && UNSEEN.test(one) ? `⟨${code(one)}⟩` : one)).join("");
}

/** What a character comes down to when spelling details are ignored; "" for those that show nothing. */
export function plain(character: string): string {
  if (character <= "\x7f") return character === "\t" || character === "\r" ? " " : character.toLowerCase();
  if (/\p{Zs}/u.test(character)) return " ";
  if (/[‘’‚‛′]/.test(character)) return "'";
  if (/[“”„‟″«»]/.test(character)) return '"';
  if (/[\p{Pd}\u2212]/u.test(character)) return "-";
  return character
    .normalize("NFKD")
    .replace(/[\p{M}\p{Cf}]/gu, "")
    .toLowerCase();
}

type Folded = { readonly text: string; readonly from: readonly number[] };

/** Folds a line: `from[i]` is the UTF-16 index in the raw line of folded unit `i`. Runs of blanks become one, none at the ends. */
export function fold(line: string): Folded {
  let text = "";
  const from: number[] = [];
  let index = 0;
  let blank = false;
  for (const character of line) {
    const folded = plain(character);
    if (folded === " ") {
      blank = text !== "";
    } else if (folded !== "") {
      if (blank) {
        text += " ";
        from.push(index - 1);
      }
      blank = false;
      text += folded;
      for (let unit = 0; unit < folded.length; unit++) from.push(index);
    }
    index += character.length;
  }
  return { text, from };
}
