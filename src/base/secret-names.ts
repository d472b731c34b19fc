/**
 * Which names of variables say that their value is a secret: `OPENAI_API_KEY_2`, `MY_TOKEN_PROD`, `PGPASSWORD`, and not
 * `TOKENIZERS_PARALLELISM`, `SSH_AUTH_SOCK`, `PASSWORD_STORE_DIR`. Refuses: looking at values (base/redact.ts).
 */
import { once } from "./once.ts";

const set = (words: string): ReadonlySet<string> => new Set(words.split(" "));

/** Without one of these in it no name is looked at any closer. */
const ANY = /key|token|secret|pass|pwd|pat|auth|credential|jwt|bearer|cookie|headers/i;

/** Ends of words that mean a secret wherever they stand: `PGPASSWORD`, `accesstoken`. */
const STRONG = /(?:tokens?|secrets?|passwords?|passwd|passphrase|api_?keys?|accesskeys?(?:id)?|privatekeys?|credentials?)$/;

/** What makes a `key` behind it a secret wherever the two stand. */
const KEY_KINDS = once(() => set("api access secret private signing encryption account auth master deploy"));

/** Secrets only as the last word of several; what may follow them all the same says which one, or how it is written. */
const WEAK = once(() => set("key keys pat pats pwd pass auth jwt bearer cookie cookies headers"));
const SUFFIX = once(() =>
  set(
    "prod production dev development stage staging test testing live old new backup primary secondary base64 b64 json pem der raw data config value",
  ),
);
/** Keys that are for everybody, or that only find something. */
const OPEN_KEYS = once(() => set("public publishable cache"));

/** The last word of what tells where a secret is, or about it. */
const ABOUT = once(() =>
  set(
    `file files path paths dir dirs directory folder url urls uri endpoint host port name names type kind format version
    helper helpers store provider providers manager backend policy process command cmd program options
    tcp udp addr proto fd alias enable extensions opts override dummy
    length len size limit count budget ttl expiry expires expiration timeout lifetime duration seconds minutes days
    algorithm alg issuer audience scope scopes prompt hint field region arn env enabled disabled required sock socket cache`.replace(
      /\s+/g,
      " ",
    ),
  ),
);
const AMOUNTS = once(() => set("max min num limit budget count"));

/** The settings of `pass`, git's settings in the environment, a choice between ways to log in. */
const NOT_SECRET = /^(?:PASSWORD_STORE_|GIT_CONFIG_(?:KEY|VALUE)_\d+$|AZURE_TOKEN_CREDENTIALS$)/;

/** A switch or a small number, whatever it is called: `SECRET_DETECTION_HISTORIC_SCAN=true`. */
export function saysNothing(value: string): boolean {
  return /^(?:true|false|yes|no|on|off|\d{0,2})$/i.test(value);
}

/** True when the name alone says that the value is a secret. */
export function looksSecret(name: string): boolean {
  if (!ANY.test(name)) return false;
  const words = wordsOf(name);
  const last = words.at(-1) ?? "";
  if (NOT_SECRET.test(name)) return false;
  // `CREDENTIAL_FILE_OVERRIDE` is about a file, too.
  const isOne = (word: string, at: number): boolean =>
    isStrong(word, words[at - 1] ?? "", words) && (at === words.length - 1 || !ABOUT().has(words[at + 1] ?? ""));
  return (!ABOUT().has(last) && words.some(isOne)) || isWeak(words);
}

/** `npm_config_//r/:_authToken` → npm config r auth token; a number behind a word only counts. */
function wordsOf(name: string): readonly string[] {
  const apart = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
  const words = apart.split(/[^a-z0-9]+/).map((word) => word.replace(/^v?\d+$|\d+$/, ""));
  return words.filter((word) => word !== "");
}

function isStrong(word: string, before: string, words: readonly string[]): boolean {
  if (/^keys?$/.test(word)) return KEY_KINDS().has(before);
  if (/^tokens$/.test(word) && words.some((other) => AMOUNTS().has(other))) return false;
  return STRONG.test(word);
}

function isWeak(words: readonly string[]): boolean {
  let at = words.length - 1;
  while (at > 1 && SUFFIX().has(words[at] ?? "")) at--;
  const word = words[at] ?? "";
  if (!WEAK().has(word) || (at === 0 && word !== "jwt")) return false;
  return !/^keys?$/.test(word) || !OPEN_KEYS().has(words[at - 1] ?? "");
}

/** Names whose value may be the path of a file instead: `GOOGLE_APPLICATION_CREDENTIALS`. */
export function mayNameFile(name: string): boolean {
  return /credentials?$/i.test(name);
}
