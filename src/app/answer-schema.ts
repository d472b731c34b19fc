/** `--output-schema`: reads a JSON Schema and checks final answers against it. Refuses: repairing answers. */
import { nestedTooDeep } from "../base/json.ts";
import { UserError } from "../base/user-error.ts";
import { readGivenFile } from "./given-file.ts";

export type AnswerSchema = {
  readonly schema: Readonly<Record<string, unknown>>;
  /** What is wrong with an answer, in a line or a few; undefined when it fits. */
  readonly check: (text: string) => string | undefined;
};

function parseObject(text: string, file: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UserError(`--output-schema ${file}: is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new UserError(`--output-schema ${file}: must be a JSON object`);
  return value as Record<string, unknown>;
}

/** @throws UserError (exit 2) when the file cannot be read, is not JSON or is not a schema that can be checked. */
export async function loadAnswerSchema(path: string, shown: string): Promise<AnswerSchema> {
  const schema = parseObject(await readGivenFile(path, `--output-schema ${shown}`), shown);
  // Lazy door: only runs with a schema pay for zod before their first request.
  const { fromJSONSchema } = await import("zod");
  let type: ReturnType<typeof fromJSONSchema>;
  try {
    type = fromJSONSchema(schema as Parameters<typeof fromJSONSchema>[0]);
  } catch (error) {
    throw new UserError(`--output-schema ${shown}: cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
  const check = (answer: string): string | undefined => {
    let value: unknown;
    if (nestedTooDeep(answer)) return "it is nested too deep";
    try {
      value = JSON.parse(answer);
    } catch (error) {
      return `it is not JSON (${error instanceof Error ? error.message : String(error)})`;
    }
    const result = type.safeParse(value);
    if (result.success) return undefined;
    return result.error.issues
      .slice(0, 8)
      .map((issue) => `${issue.path.join(".") || "(root)"}: ${issue.message}`)
      .join("; ");
  };
  return { schema, check };
}
