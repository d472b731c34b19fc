/**
 * The one redaction of secret-looking text (sessions.md, Redaction): for everything that is logged, shown or exported.
 * Result `[redacted:kind]`. Linear time: every pattern starts at a literal and runs over one character class; the rest is
 * scanned by hand. Refuses: guessing from entropy alone (commit ids, UUIDs, checksums and base64 data survive).
 */
import { namesSecret, redactAssignments } from "./redact-assignments.ts";
import { redactPem, redactUrlPasswords } from "./redact-scans.ts";

type RedactOptions = {
  /** Exact secret values this process holds. Shorter than 6 characters are ignored: they would eat ordinary text. */
  readonly exact?: readonly string[];
};

type Rule = {
  readonly kind: string;
  /** Literals one of which must occur (cheap refusal). */
  readonly hints: readonly string[];
  readonly pattern: RegExp;
  readonly accept?: (match: string) => boolean;
};

/** Token shapes. The look-behind makes each run of token characters be tried once, which keeps the time linear. */
const RULES: readonly Rule[] = [
  // Unmistakable also where a file name or another word runs into it.
  {
    kind: "provider_key",
    hints: ["sk-ant-", "sk-proj-", "sk-or-", "sk-svcacct-", "sk-admin-"],
    pattern: /(?<![A-Za-z0-9])sk-(?:ant|proj|or|svcacct|admin)-[A-Za-z0-9_-]{16,}/g,
    accept: isProviderKey,
  },
  { kind: "provider_key", hints: ["sk-"], pattern: /(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{10,}/g, accept: isProviderKey },
  { kind: "provider_key", hints: ["AIza"], pattern: /(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{30,}/g },
  {
    kind: "provider_key",
    hints: ["gsk_", "xai-"],
    pattern: /(?<![A-Za-z0-9])(?:gsk_|xai-)[A-Za-z0-9]{18,}/g,
  },
  {
    kind: "provider_key",
    hints: ["hf_", "pplx-", "csk-", "fw_", "r8_"],
    pattern: /(?<![A-Za-z0-9_-])(?:hf_|pplx-|csk-|fw_|r8_)[A-Za-z0-9]{18,}/g,
  },
  {
    kind: "github_token",
    hints: ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
    pattern: /(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,})/g,
  },
  {
    kind: "gitlab_token",
    hints: ["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "gloas-", "glagent-", "glimt-"],
    pattern: /(?<![A-Za-z0-9_-])gl(?:pat|dt|rt|cbt|ptt|ft|soat|oas|agent|imt)-[A-Za-z0-9_.-]{16,}/g,
  },
  {
    kind: "aws_key",
    hints: ["AKIA", "ASIA", "ABIA", "ACCA"],
    pattern: /(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  },
  {
    kind: "slack_token",
    hints: ["xox", "xapp-"],
    pattern: /(?<![A-Za-z0-9])(?:xox[a-z]-(?:\d-)?|xapp-)[A-Za-z0-9-]{10,}/g,
  },
  {
    kind: "slack_webhook",
    hints: ["hooks.slack.com/"],
    pattern: /hooks\.slack\.com\/(?:services|workflows)\/[A-Za-z0-9/_-]{10,}/g,
  },
  {
    kind: "stripe_key",
    hints: ["_live_", "_test_", "whsec_"],
    pattern: /(?<![A-Za-z0-9])(?:[spr]k_(?:live|test)_[A-Za-z0-9]{8,}|whsec_[A-Za-z0-9+/=]{16,})/g,
  },
  { kind: "npm_token", hints: ["npm_"], pattern: /(?<![A-Za-z0-9_])npm_[A-Za-z0-9]{30,}/g },
  { kind: "pypi_token", hints: ["pypi-"], pattern: /(?<![A-Za-z0-9_-])pypi-[A-Za-z0-9_-]{30,}/g },
  {
    kind: "jwt",
    hints: ["eyJ"],
    pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  },
  // Docker's and podman's configuration, also inside of other JSON.
  {
    kind: "registry_login",
    hints: ['auth"', 'auth\\"'],
    pattern: /(?<="auth\\{0,7}"\s{0,9}:\s{0,9}\\{0,7}")[A-Za-z0-9+/]{6,}={0,2}(?=\\{0,7}")/g,
    accept: isLogin,
  },
];

/** Redacts one text of any length. Returns the same string object when there is nothing to do. */
export function redact(text: string, options: RedactOptions = {}): string {
  if (text.length < 6) return text;
  let out = redactExact(text, options.exact ?? []);
  if (out.includes("-----")) out = redactPem(out);
  for (const rule of RULES) {
    if (!rule.hints.some((hint) => out.includes(hint))) continue;
    out = out.replace(rule.pattern, (match) => (rule.accept?.(match) === false ? match : mark(rule.kind)));
  }
  if (out.includes("://")) out = redactUrlPasswords(out);
  return redactAssignments(out);
}

/**
 * Redacts every string of a JSON value, keys and values; the value stays valid JSON of the same shape. A string under a
 * secret-looking name (`api_key`, `password`) and an argv word after a secret-looking flag (`--token X`) are redacted whole.
 */
export function redactValue<T>(value: T, redactText: (text: string) => string): T {
  return redactInner(value, redactText) as T;
}

function redactInner(value: unknown, redactText: (text: string) => string): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return redactArray(value, redactText);
  if (typeof value !== "object" || value === null) return value;
  const out: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    const safeKey = redactText(key);
    // defineProperty: a key called __proto__ must stay an ordinary key.
    Object.defineProperty(out, safeKey, {
      value: redactMember(key, inner, redactText),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return out;
}

function redactMember(key: string, inner: unknown, redactText: (text: string) => string): unknown {
  if (key === "auth" && typeof inner === "string" && isLogin(inner)) return mark("registry_login");
  if (typeof inner !== "string" || inner.length < 3 || !namesSecret(key)) return redactInner(inner, redactText);
  const isReference = /^(?:[$<{%]|\[redacted:|(?:null|none|true|false|undefined|string|required)$)/i.test(inner);
  return isReference ? redactText(inner) : mark("secret");
}

function redactArray(items: readonly unknown[], redactText: (text: string) => string): unknown[] {
  return items.map((item, index) => {
    const before = items[index - 1];
    if (typeof item === "string" && typeof before === "string" && /^--?[A-Za-z][\w-]{0,63}$/.test(before)) {
      return redactMember(before.replace(/^-+/, ""), item, redactText);
    }
    return redactInner(item, redactText);
  });
}

function mark(kind: string): string {
  return `[redacted:${kind}]`;
}

function redactExact(text: string, exact: readonly string[]): string {
  let out = text;
  // Longest first: one credential may be the beginning of another.
  for (const secret of [...exact].sort((a, b) => b.length - a.length)) {
    if (secret.length < 6) continue;
    for (const form of formsOf(secret)) if (out.includes(form)) out = out.replaceAll(form, () => mark("credential"));
  }
  return out;
}

/** The ways a credential shows up: plain, percent-encoded, JSON-escaped. */
function formsOf(secret: string): Set<string> {
  return new Set([secret, encodeURIComponent(secret.toWellFormed()), JSON.stringify(secret).slice(1, -1)]);
}

/** `sk-` also starts CSS classes and slugs: made of short lower-case words and small numbers only, it is no key. */
function isProviderKey(match: string): boolean {
  const segments = match.slice(3).split(/[-_]/);
  return !segments.every((segment) => /^(?:[a-z]{0,19}\d{0,2}|\d{1,4})$/.test(segment));
}

/** `user:password` in base64. */
function isLogin(match: string): boolean {
  return /^[\x20-\x7e]*:[\x20-\x7e]+$/.test(Buffer.from(match, "base64").toString("latin1"));
}
