/**
 * Which names look as if they held a secret, so that none ends up in a configuration file (cli.md, Configuration).
 * Refuses: knowing what secrets look like (base/redact.ts does).
 */
import { redact } from "../base/redact.ts";

const SECRET_SUFFIX =
  /(^|[_\-.])(api[_-]?key|apikey|access[_-]?key|private[_-]?key|token|secret|password|passwd|passphrase|credentials?)$/i;
const SECRET_HEADER = /^(authorization|proxy-authorization|cookie|x-api-key|api-key|x-goog-api-key)$/i;

/** True for `api_key`, `OPENAI_API_KEY`, `auth-token`, `Authorization`; false for `api_key_env`, `max_tokens`. */
export function isSecretName(name: string): boolean {
  return SECRET_SUFFIX.test(name) || SECRET_HEADER.test(name) || /[a-z](ApiKey|Token|Secret|Password)$/.test(name);
}

/**
 * For an entry of a free map (`env`, `headers`, `query`): the variable to suggest when the entry looks like a secret
 * written out; undefined when it is none or takes its value from a variable.
 */
export function literalSecretIn(name: string, value: string): string | undefined {
  const looksSecret = isSecretName(name) || /^key$/i.test(name) || redact(value) !== value;
  if (!looksSecret || value === "" || /\$\{[A-Za-z_][A-Za-z0-9_]*\}/.test(value)) return undefined;
  return name.replace(/[^A-Za-z0-9]+/g, "_").toUpperCase();
}

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

type Settings = readonly { readonly path: readonly string[]; readonly value: unknown }[];

/** Where a request carries what was set: headers and queries of providers, headers of MCP servers. */
function isCarried([room, second, third, fourth]: readonly string[]): boolean {
  if (room === "providers") return third === "headers" || third === "query";
  return room === "mcp" && second === "servers" && fourth === "headers";
}

/** The variables that what requests carry refers to as `${NAME}`. */
export function referencedNames(settings: Settings): string[] {
  const carried = settings.filter(({ path }) => isCarried(path));
  if (carried.length === 0) return [];
  const names = carried.flatMap(({ value }) => [...JSON.stringify(value).matchAll(REFERENCE)].map(([, name = ""]) => name));
  return [...new Set(names)];
}

/**
 * The values of those variables: whoever keeps such a value out of a file keeps a secret, whatever the variable is called. A path
 * (`${HOME}`) is none.
 */
export function referencedValues(settings: Settings, env: Readonly<Record<string, string | undefined>>): string[] {
  return referencedNames(settings).flatMap((name) => {
    const value = env[name]?.trim() ?? "";
    return value === "" || /^[~.]?\//.test(value) ? [] : [value];
  });
}
