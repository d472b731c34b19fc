/**
 * Redactions that no single pattern can do in linear time: PEM blocks and passwords in URLs, scanned by hand.
 * Public certificates and keys are not secrets and stay.
 */

const BEGIN = "-----BEGIN ";
const END = "-----END ";
const LABEL_LIMIT = 64;
const PUBLIC_LABEL =
  /(?:CERTIFICATE|PUBLIC KEY|CERTIFICATE REQUEST|X509 CRL|CMS|PKCS7|DH PARAMETERS|EC PARAMETERS|MESSAGE|SIGNATURE)$/;
const BODY_RUN = /[A-Za-z0-9+/=]{16}/;
const BODY_END = /[^A-Za-z0-9+/=\s\\:,.|>-]|-----/g;
const BLOCK_LIMIT = 64 * 1024;

/** Replaces private-key PEM blocks, also inside JSON strings (`\n` as two characters), also when either end was cut off. */
export function redactPem(text: string): string {
  if (!text.includes(BEGIN)) return redactHeadless(text);
  let out = "";
  let copied = 0;
  let position = 0;
  // Looked up forwards only, so a text full of beginnings without an end stays linear.
  let nextEnd = text.indexOf(END);
  for (;;) {
    const begin = text.indexOf(BEGIN, position);
    if (begin === -1) break;
    const label = labelAt(text, begin + BEGIN.length);
    const bodyStart = label === undefined ? -1 : begin + BEGIN.length + label.length + 5;
    if (label === undefined || PUBLIC_LABEL.test(label) || !BODY_RUN.test(text.slice(bodyStart, bodyStart + 400))) {
      position = begin + BEGIN.length;
      continue;
    }
    const body = endOfBody(text, bodyStart);
    while (nextEnd !== -1 && nextEnd < body) nextEnd = text.indexOf(END, nextEnd + 1);
    const closing = `${END}${label}-----`;
    const closed = nextEnd !== -1 && nextEnd - body < BLOCK_LIMIT && text.startsWith(closing, nextEnd);
    const end = closed ? nextEnd + closing.length : body;
    out += `${text.slice(copied, begin)}[redacted:pem]`;
    copied = end;
    position = end;
  }
  return copied === 0 ? redactHeadless(text) : redactHeadless(out + text.slice(copied));
}

function labelAt(text: string, start: number): string | undefined {
  const close = text.slice(start, start + LABEL_LIMIT).indexOf("-----");
  const label = close === -1 ? "" : text.slice(start, start + close);
  return /^[A-Z0-9 ]+$/.test(label) ? label : undefined;
}

/** As far as it looks like the inside of a key. */
function endOfBody(text: string, bodyStart: number): number {
  BODY_END.lastIndex = bodyStart;
  return BODY_END.exec(text)?.index ?? text.length;
}

/** A block whose beginning was cut off: the base64 lines directly before a private `END` line. */
function redactHeadless(text: string): string {
  let out = "";
  let copied = 0;
  for (let end = text.indexOf(END); end !== -1; end = text.indexOf(END, end + 1)) {
    const label = labelAt(text, end + END.length);
    if (label === undefined || PUBLIC_LABEL.test(label)) continue;
    let start = end;
    while (start > copied && /[A-Za-z0-9+/=\s\\]/.test(text[start - 1] ?? "")) start--;
    if (!BODY_RUN.test(text.slice(Math.max(start, end - 200), end))) continue;
    out += `${text.slice(copied, start)}[redacted:pem]`;
    copied = end + END.length + label.length + 5;
  }
  return copied === 0 ? text : out + text.slice(copied);
}

const AUTHORITY_END = /[\s"'`<>\\]/;
const USERINFO_LIMIT = 1024;

/** `scheme://user:password@host`: the password goes, user and host stay. Placeholders (`$PASS`, `<password>`) stay. */
export function redactUrlPasswords(text: string): string {
  let out = "";
  let copied = 0;
  for (let at = text.indexOf("://"); at !== -1; at = text.indexOf("://", at + 3)) {
    const start = at + 3;
    if (start < copied) continue;
    const found = passwordIn(text, start);
    if (found === undefined) continue;
    out += `${text.slice(copied, found.from)}[redacted:url_password]`;
    copied = found.to;
  }
  return copied === 0 ? text : out + text.slice(copied);
}

function passwordIn(text: string, start: number): { from: number; to: number } | undefined {
  let colon = -1;
  let slash = -1;
  let at = -1;
  const limit = Math.min(text.length, start + USERINFO_LIMIT);
  for (let i = start; i < limit; i++) {
    const character = text[i] ?? "";
    if (AUTHORITY_END.test(character)) break;
    // The next URL of a list without spaces.
    if (character === ":" && text.startsWith("//", i + 1)) break;
    if (character === ":" && colon === -1) colon = i;
    if (slash === -1 && (character === "/" || character === "?" || character === "#")) {
      if (at !== -1 || colon === -1 || /^\d*$/.test(text.slice(colon + 1, i))) break;
      slash = i;
    }
    if (character === "@") {
      at = i;
      if (slash !== -1) break;
    }
  }
  if (colon === -1 || at === -1 || at <= colon + 1) return undefined;
  const password = text.slice(colon + 1, at);
  if (/^(?:\$|%[A-Za-z_]+%|\{|\[redacted:|\*+$|x+$)/i.test(password)) return undefined;
  return { from: colon + 1, to: at };
}
