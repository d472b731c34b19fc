/**
 * Templates in instruction files (C8): who opted in, and a bounded rendering. The engine is loaded for such a file only.
 * Refuses: running anything but the template language; guessing at unknown names.
 */
import type { TemplateFacts } from "./contract.ts";

/** A front matter block larger than this is text. */
const MAX_FRONT_MATTER = 16 * 1024;

export type TemplateBody = { readonly body: string /** Lines of the file before the body. */; readonly offset: number };

function enables(value: unknown): boolean {
  return value === true || (typeof value === "object" && value !== null && !Array.isArray(value));
}

/** The body of a file that opted in by front matter; undefined for every other file, whose text is verbatim. */
export function templateBody(text: string): TemplateBody | undefined {
  if (!text.startsWith("---\n")) return undefined;
  const close = /\n(?:---|\.\.\.)[ \t]*(?:\n|$)/.exec(text.slice(3, MAX_FRONT_MATTER));
  if (!close) return undefined;
  const front = text.slice(4, 3 + close.index + 1);
  // YAML is parsed only when one of the switches can be in it.
  if (!/(?:thndrs|polytoken)/.test(front)) return undefined;
  try {
    const parsed: unknown = Bun.YAML.parse(front);
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return undefined;
    const fields = parsed as Record<string, unknown>;
    if (!enables(fields.thndrs) && !enables(fields.polytoken)) return undefined;
  } catch {
    return undefined;
  }
  const end = 3 + close.index + close[0].length;
  return { body: text.slice(end), offset: text.slice(0, end).split("\n").length - 1 };
}

export type ModelVariant = "claude" | "openai" | "gemini" | "qwen" | "deepseek" | "mistral" | "llama" | "other";

const VARIANTS: readonly (readonly [ModelVariant, RegExp])[] = [
  ["claude", /claude/],
  ["gemini", /gemini|gemma/],
  ["qwen", /qwen|qwq|qvq/],
  ["deepseek", /deepseek/],
  ["mistral", /mistral|mixtral|codestral|devstral|magistral|ministral|pixtral/],
  ["llama", /llama(?!\.?cpp)/],
  ["openai", /gpt|(?:^|[/\-_ ])o[1-9](?:$|[-_ ])|codex|davinci/],
];

/** Family of a model by its name; a distilled name ("deepseek-r1-distill-llama") counts as the first family listed here. */
export function modelVariant(model: string, provider: string): ModelVariant {
  const name = model.toLowerCase();
  for (const [variant, pattern] of VARIANTS) if (pattern.test(name)) return variant;
  const by: Readonly<Record<string, ModelVariant>> = {
    anthropic: "claude",
    openai: "openai",
    google: "gemini",
    gemini: "gemini",
    deepseek: "deepseek",
    mistral: "mistral",
  };
  return by[provider.toLowerCase()] ?? "other";
}

export type Rendered =
  | { readonly ok: true; readonly text: string }
  /** `line` is 1-based in the file. */
  | { readonly ok: false; readonly message: string; readonly line: number };

export type TemplateRequest = {
  readonly template: TemplateBody;
  readonly facts: TemplateFacts;
  readonly root: string;
  readonly cwd: string;
  readonly transclude: Transclude;
};

/**
 * A file in the directory subtree of the calling file, which is `caller` (a path this function answered) or the template itself;
 * throws with a sentence otherwise.
 */
export type Transclude = (path: string, caller?: string) => { readonly path: string; readonly text: string };

/** Everything a template can name: variables and functions (C8). */
export function templateScope(request: TemplateRequest): Record<string, unknown> {
  const { facts } = request;
  const variant = modelVariant(facts.model_name, facts.model_id);
  const names = (list: readonly string[]) => new Set(list);
  const tools = names(facts.available_tools);
  const servers = names(facts.available_mcp_servers);
  const skills = names(facts.available_skills);
  return {
    ...facts,
    model_variant: variant,
    project_path: request.root,
    cwd: request.cwd,
    is_model_variant: (name: unknown) => name === variant,
    has_tool: (name: unknown) => tools.has(String(name)),
    get_tool: (name: unknown) => (tools.has(String(name)) ? { name: String(name) } : null),
    has_mcp: (name: unknown) => servers.has(String(name)),
    has_skill: (name: unknown) => skills.has(String(name)),
  };
}

/** Renders a body that opted in. Never throws for what a template does. */
export async function renderTemplate(request: TemplateRequest): Promise<Rendered> {
  const [jinja, { renderBounded }] = await Promise.all([import("@huggingface/jinja"), import("./template-engine.ts")]);
  return renderBounded(jinja, request.template, templateScope(request), request.transclude);
}
