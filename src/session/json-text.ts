/** JSON as text that is safe wherever it lands: terminals, line-based readers, HTML. Lossless. */

// DEL and C1 controls, line separators, bidirectional, zero-width and tag characters: legal in JSON strings, dangerous raw.
const RISKY =
  /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

/** `JSON.stringify` with every risky character escaped (it can only be inside a string). */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.replace(RISKY, (found) => {
    let out = "";
    for (let i = 0; i < found.length; i++) out += `\\u${found.charCodeAt(i).toString(16).padStart(4, "0")}`;
    return out;
  });
}
