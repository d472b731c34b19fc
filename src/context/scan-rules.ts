/**
 * The phrases that try to override the harness (C12), as data. Each rule is a first word and the steps after it.
 * Tuned on test/fixtures/context/scan: attacks must match, ordinary instruction files must not.
 */
import { once } from "../base/once.ts";
import { isNegated, isNegatedSentence, type Step, type Word } from "./words.ts";

export type ScanKind =
  | "override_instructions"
  | "claimed_system_prompt"
  | "act_without_limits"
  | "hide_from_user"
  | "hidden_instructions"
  | "credential_upload"
  | "credential_files";

export type PhraseRule = {
  readonly kind: ScanKind;
  readonly steps: readonly Step[];
  /** False: the match at `start`..`end` (word indexes) is innocent. */
  readonly holds: (words: readonly Word[], start: number, end: number) => boolean;
};

const set = (words: string): ReadonlySet<string> => new Set(words.split(" "));
const step = (words: string, gap = 0, filler?: ReadonlySet<string>): Step => ({
  any: set(words),
  gap,
  ...(filler && { filler }),
});

const functionWords = once(() =>
  set(
    "a an the all any of and or your my our their its his her this that these those every each other to from with in on is are be completely entirely totally fully absolutely please now just simply everything anything instead existing foregoing given current original initial",
  ),
);
const DISCARD = "ignore ignoring disregard disregarding forget forgetting discard neglect bypass";
const PRIOR = "previous previously prior above earlier preceding former foregoing past";
const STRONG = "instructions instruction prompts prompt directives directive";
const WEAK =
  "rules guidelines context messages message commands constraints programming training guidance policies orders conversation";
const OWNED = "system developer your user user's agent's assistant's harness safety";
const modelWords = once(() => set("you assistant agent agents ai llm model claude gpt gemini copilot cursor"));

const notNegated: PhraseRule["holds"] = (words, start) => !isNegated(words, start);

/** Imperative mood only: "nested files override earlier instructions" is ordinary prose. */
const imperative: PhraseRule["holds"] = (words, start) => {
  if (isNegated(words, start)) return false;
  const before = words[start - 1];
  return (
    words[start]?.breaks !== false ||
    !before ||
    set("and then now please must should to you will shall immediately").has(before.text)
  );
};

/** "tell the user about this", not "tell the user that the tests pass". */
const aboutUs: PhraseRule["holds"] = (words, _start, end) => {
  const next = words[end + 1];
  if (!next || next.breaks) return true;
  if (set("about of anything this it these those or and what why how when unless").has(next.text)) return true;
  return next.text === "that" && set("you we it this these").has(words[end + 2]?.text ?? "");
};

const USER = "user users human humans developer operator owner person";

/** Made when a file is first scanned. */
export const phrases = once((): readonly PhraseRule[] => [
  { kind: "override_instructions", steps: [step(DISCARD), step(PRIOR, 4), step(STRONG, 3)], holds: notNegated },
  { kind: "override_instructions", steps: [step(DISCARD), step(PRIOR, 4, functionWords()), step(WEAK, 2)], holds: notNegated },
  {
    kind: "override_instructions",
    steps: [
      step(DISCARD),
      step(OWNED, 3, functionWords()),
      step(`${STRONG} rules guidelines programming training policy constraints`, 1),
    ],
    holds: notNegated,
  },
  {
    kind: "override_instructions",
    steps: [step(DISCARD), step("all any every"), step(STRONG, 2, functionWords())],
    holds: notNegated,
  },
  {
    kind: "override_instructions",
    steps: [step(DISCARD), step(`${STRONG} rules guidelines`, 3, functionWords()), step("above before earlier previously", 4)],
    holds: notNegated,
  },
  {
    kind: "override_instructions",
    steps: [
      step(DISCARD),
      step("everything anything all what whatever"),
      step("told said instructed learned", 4),
      step("before earlier above previously so far", 2),
    ],
    holds: notNegated,
  },
  {
    kind: "override_instructions",
    steps: [step(DISCARD), step("everything anything all"), step("above before previously earlier", 2, functionWords())],
    holds: notNegated,
  },
  {
    kind: "override_instructions",
    steps: [
      step("override overrides overwrite supersede replace"),
      step("system developer", 3, functionWords()),
      step(`${STRONG} message policy`, 1),
    ],
    holds: imperative,
  },
  {
    kind: "override_instructions",
    steps: [step("override supersede"), step(`${PRIOR} safety harness`, 3, functionWords()), step(`${STRONG} ${WEAK} policy`, 2)],
    holds: imperative,
  },
  {
    kind: "override_instructions",
    steps: [
      step("not don't dont never stop"),
      step("follow following obey obeying"),
      step(`${PRIOR} system developer`, 3, functionWords()),
      step(`${STRONG} ${WEAK}`, 2),
    ],
    holds: () => true,
  },
  {
    kind: "override_instructions",
    steps: [step("pay"), step("no"), step("attention"), step("to"), step(PRIOR, 4), step(`${STRONG} ${WEAK}`, 2)],
    holds: () => true,
  },

  {
    kind: "claimed_system_prompt",
    steps: [
      step("this these following here"),
      step("is are", 2),
      step("new updated actual real true", 2, functionWords()),
      step("system developer"),
      step("prompt message instructions instruction"),
    ],
    holds: () => true,
  },
  {
    kind: "claimed_system_prompt",
    steps: [
      step("your you"),
      step("new real actual true updated", 2, functionWords()),
      step("system instructions instruction role identity persona objective", 0),
    ],
    holds: (words, _start, end) =>
      set("is are follow below as").has(words[end + 1]?.text ?? "") ||
      words[end]?.text === "system" ||
      words[end + 1]?.breaks !== false,
  },
  {
    kind: "claimed_system_prompt",
    steps: [step("new updated begin end start"), step("system"), step("prompt message instructions override")],
    holds: (words, start) => words[start]?.breaks !== false || start === 0,
  },
  {
    kind: "claimed_system_prompt",
    steps: [step("system"), step("prompt"), step("override update overwrite")],
    holds: notNegated,
  },
  {
    kind: "claimed_system_prompt",
    steps: [step("you"), step("are"), step("now", 0), step("dan jailbroken unrestricted unfiltered uncensored", 3)],
    holds: () => true,
  },

  {
    kind: "act_without_limits",
    steps: [
      step("act behave respond answer reply pretend comply operate"),
      step("without", 5),
      step(
        "restrictions restriction limits limitations guardrails filters safeguards censorship constraints rules boundaries",
        3,
        set("any all your the of ethical safety moral usual normal content further such or policy"),
      ),
    ],
    holds: notNegated,
  },
  {
    kind: "act_without_limits",
    steps: [
      step("act behave pretend respond answer operate imagine"),
      step("if though like", 3),
      step("you", 3),
      step("no without", 5),
      step(
        "restrictions restriction limits limitations guardrails filters safeguards constraints rules guidelines boundaries",
        3,
      ),
    ],
    holds: notNegated,
  },
  {
    kind: "act_without_limits",
    steps: [
      step("you you're"),
      step("no not", 1),
      step("longer", 0),
      step("bound restricted limited constrained", 2),
      step("by to", 1),
    ],
    holds: () => true,
  },
  {
    kind: "act_without_limits",
    steps: [step("you"), step("are", 0), step("not", 0), step("bound", 0), step("by")],
    holds: () => true,
  },
  {
    kind: "act_without_limits",
    steps: [
      step("you"),
      step("have", 1),
      step("no"),
      step(
        "restrictions limits limitations guardrails filters rules boundaries",
        2,
        set("any more ethical safety moral content"),
      ),
    ],
    holds: () => true,
  },
  {
    kind: "act_without_limits",
    steps: [
      step("enter enable activate switch in"),
      step("developer jailbreak god dan unrestricted unsafe", 3, functionWords()),
      step("mode"),
    ],
    holds: (words, start, end) =>
      !isNegated(words, start) &&
      (words[end - 1]?.text !== "developer" ||
        modelWords().has(words[start - 1]?.text ?? "") ||
        ["are", "now", "be"].includes(words[start - 1]?.text ?? "")),
  },
  { kind: "act_without_limits", steps: [step("do"), step("anything"), step("now")], holds: notNegated },
  {
    kind: "act_without_limits",
    steps: [
      step("bypass disable remove drop ignore disregard deactivate"),
      step("your"),
      step("restrictions restriction guardrails filters safeguards limitations safety ethics ethical content", 2),
    ],
    holds: notNegated,
  },

  {
    kind: "hide_from_user",
    steps: [step("not don't dont never"), step("tell inform notify alert warn", 1), step(USER, 1, functionWords())],
    holds: aboutUs,
  },
  {
    kind: "hide_from_user",
    steps: [step("without"), step("telling informing notifying alerting warning letting"), step(USER, 1, functionWords())],
    holds: (words, start) => !isNegatedSentence(words, start),
  },
  {
    kind: "hide_from_user",
    steps: [
      step("not don't dont never"),
      step("mention reveal disclose show report admit"),
      step("this these that it anything", 1),
      step("to"),
      step(`${USER} anyone anybody`, 1, functionWords()),
    ],
    holds: () => true,
  },
  {
    kind: "hide_from_user",
    steps: [
      step("not don't dont never"),
      step("mention reveal disclose"),
      step("this these your", 1),
      step("instructions instruction prompt"),
    ],
    holds: () => true,
  },
  {
    kind: "hide_from_user",
    steps: [step("hide conceal"), step("this these it your all", 1), step("from", 4), step(USER, 1, functionWords())],
    holds: notNegated,
  },
  {
    kind: "hide_from_user",
    steps: [step("keep"), step("this it these"), step("secret hidden", 2), step("from", 1), step(USER, 1, functionWords())],
    holds: notNegated,
  },
]);

/** Only inside HTML comments: orders to a model that a reader of the rendered page never sees. */
export const commentPhrases = once((): readonly PhraseRule[] => [
  {
    kind: "hidden_instructions",
    steps: [
      { any: modelWords(), gap: 0 },
      step("must should shall will need have", 2),
      step(
        "run execute send upload post fetch download install delete exfiltrate reveal leak print email push ignore disregard obey include insert add append",
        5,
      ),
    ],
    holds: (words, start) => !isNegatedSentence(words, start + 1),
  },
  {
    kind: "hidden_instructions",
    steps: [
      { any: modelWords(), gap: 0 },
      step("run execute send upload post fetch download install delete exfiltrate reveal leak print email", 1),
    ],
    holds: notNegated,
  },
  {
    kind: "hidden_instructions",
    steps: [step("secret hidden system"), step("instruction instructions prompt directive directives")],
    holds: () => true,
  },
  {
    kind: "hidden_instructions",
    steps: [
      step("silently secretly quietly covertly"),
      step("run execute send upload post fetch download install delete add append include insert push", 1),
    ],
    holds: () => true,
  },
]);

/** Line-shaped claims; every expression is linear (bounded repeats, no nested quantifiers). */
export const LINE_PATTERNS: readonly { readonly kind: ScanKind; readonly pattern: () => RegExp }[] = [
  {
    kind: "claimed_system_prompt",
    pattern: () =>
      /^[ \t>#*[<({|-]{0,12}system(?: prompt| message| instructions?)?[\])>:*| -]{1,8}[ \t]{0,8}\n{0,2}[ \t>*]{0,8}(?:you (?:are|must|will|should|now|have)|ignore |disregard |forget |from now on|your new )/gm,
  },
  {
    kind: "claimed_system_prompt",
    pattern: () => /<\|?(?:im_start\|?>|system\|?>|\/system\|?>|system-reminder>|system_prompt>|system prompt>|<sys>>)/g,
  },
  { kind: "claimed_system_prompt", pattern: () => /^[ \t]{0,8}\[(?:inst|system|system prompt|system message)\]/gm },
];

/** Names that hold credentials; `.env.example` and its kin hold none. */
export const CREDENTIAL_FILE =
  /(?:^|[\s"'`(=/~])(?:\.env(?!\.(?:example|sample|template|dist|test|defaults?)\b)(?:\.[a-z]{1,12})?|\.netrc|\.pgpass|\.npmrc|\.pypirc|\.git-credentials|\.ssh\/[\w.*-]{1,40}|id_(?:rsa|ed25519|ecdsa|dsa)|\.aws\/credentials|\.kube\/config|\.docker\/config\.json|etc\/shadow|etc\/passwd)(?![\w-])/;
export const printing = once(() =>
  set(
    "cat print printenv echo dump output display head tail less more base64 reveal exfiltrate send upload post email paste type show leak bat xxd strings",
  ),
);
/** An upload whose arguments name a credential variable. */
export const UPLOAD = /\b(?:curl|wget)\b/g;
export const VARIABLE = /\$\{?(\w{1,128})/g;
export const CREDENTIAL_NAME = /(?:keys?|tokens?|secrets?|passw(?:or)?d|pwd|credentials?|auth)(?![a-z])/;
