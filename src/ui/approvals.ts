/**
 * What a person has allowed (security.md 5): once, for this session, or for this project, remembered by argv prefix in the
 * user's config home, outside any repository. Refuses: asking; remembering more than was shown.
 */
import { updatePrivateFile } from "../config/private-file.ts";
import { type FileRead, readSettingsFile } from "../config/settings-file.ts";

/** A tool, and for a command the words it begins with; `exact` when nothing may follow. */
export type Allowance = { readonly tool: string; readonly prefix?: readonly string[]; readonly exact?: boolean };

type Stored = Allowance & { readonly project: string };

/** Programs that run whatever their arguments say: allowed only word for word. */
const RUNNERS = new Set(
  (
    "sh bash zsh fish dash ksh env sudo doas su xargs nohup nice time timeout setsid ssh docker podman kubectl python python3 node " +
    "bun deno ruby perl php awk gawk sed find eval exec watch parallel make npx bunx uvx pipx rm dd curl wget git-shell osascript powershell pwsh cmd"
  ).split(" "),
);
/** Programs whose second word is a command of its own. */
const WITH_SUBCOMMAND = new Set(
  "git npm pnpm yarn cargo go gh hg svn brew apt pip pip3 poetry uv dotnet mvn gradle rustup".split(" "),
);

const nameOf = (program: string): string => program.split("/").at(-1) ?? program;

function argvOf(input: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const { argv } = input;
  return Array.isArray(argv) && argv.length > 0 ? argv.map(String) : undefined;
}

/** What "always" would mean for this call. */
export function allowanceFor(tool: string, input: Readonly<Record<string, unknown>>): Allowance {
  const argv = argvOf(input);
  if (!argv) return { tool };
  const [program = "", second = ""] = argv;
  const name = nameOf(program);
  if (RUNNERS.has(name) || /^(?:python|perl|ruby|node|lua|tclsh)[\d.]+$/.test(name)) return { tool, prefix: argv, exact: true };
  if (!WITH_SUBCOMMAND.has(name)) return { tool, prefix: [program] };
  // `npm run`, `cargo run`, `go run` and the like run what the project says: word for word.
  if (second === "" || second.startsWith("-") || /^(?:run|exec|x|dlx|run-script|test)$/.test(second))
    return { tool, prefix: argv, exact: true };
  return { tool, prefix: [program, second] };
}

/** Whether an allowance covers a call. */
export function covers(allowance: Allowance, tool: string, input: Readonly<Record<string, unknown>>): boolean {
  if (allowance.tool !== tool) return false;
  const { prefix } = allowance;
  const argv = argvOf(input);
  if (prefix === undefined) return argv === undefined;
  if (!argv || argv.length < prefix.length || (allowance.exact === true && argv.length !== prefix.length)) return false;
  // The directory is part of what was shown only for plain calls.
  return prefix.every((word, index) => argv[index] === word);
}

/** How an allowance is shown: what is remembered, no more and no less. */
export function describeAllowance(allowance: Allowance): string {
  if (allowance.prefix === undefined) return allowance.tool;
  const words = allowance.prefix.map((word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
  return `${words}${allowance.exact === true ? "" : " …"}`;
}

function storedOf(read: FileRead): Stored[] {
  if (read.kind !== "bytes") return [];
  try {
    const parsed: unknown = JSON.parse(new TextDecoder().decode(read.bytes));
    const list = typeof parsed === "object" && parsed !== null && "allowed" in parsed ? parsed.allowed : undefined;
    return Array.isArray(list) ? list.filter(isStored) : [];
  } catch {
    return [];
  }
}

function isStored(value: unknown): value is Stored {
  if (typeof value !== "object" || value === null) return false;
  const { project, tool, prefix, exact } = value as Partial<Stored>;
  if (typeof project !== "string" || typeof tool !== "string") return false;
  if (exact !== undefined && typeof exact !== "boolean") return false;
  return prefix === undefined || (Array.isArray(prefix) && prefix.length > 0 && prefix.every((word) => typeof word === "string"));
}

export interface Approvals {
  allows(tool: string, input: Readonly<Record<string, unknown>>): boolean;
  forSession(allowance: Allowance): void;
  /** @throws UserError when it cannot be written; it then counts for the session. */
  forProject(allowance: Allowance): Promise<void>;
}

/** @param file in the config home; undefined when there is none: then nothing outlasts the session */
export function openApprovals(file: string | undefined, project: string): Approvals {
  const known: Allowance[] =
    file === undefined ? [] : storedOf(readSettingsFile(file)).filter((entry) => entry.project === project);
  return {
    allows: (tool, input) => known.some((allowance) => covers(allowance, tool, input)),
    forSession: (allowance) => void known.push(allowance),
    async forProject(allowance) {
      known.push(allowance);
      if (file === undefined) return;
      await updatePrivateFile(file, (read) => {
        const allowed = [...storedOf(read), { project, ...allowance }];
        return `${JSON.stringify({ version: 1, allowed }, null, 2)}\n`;
      });
    },
  };
}
