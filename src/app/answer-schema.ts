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

/** Errors of one answer that the model is told of. Characters. */
const MOST_SAID = 1200;

const ADDITIONAL = /^(#.*): Property "(.*)" does not match additional properties schema\.$/;
const FALSE = /^(#.*): False boolean schema\.$/;

/** The validator counts a property whose value is wrong as an additional one: then it is not said that it may not be there. */
function withoutFollowers(message: string): string {
  const parts = message.split("; ");
  const places = parts.filter((part) => !ADDITIONAL.test(part) && !FALSE.test(part)).map((part) => part.split(": ")[0] ?? "");
  const isWrong = (place: string): boolean => places.some((one) => one === place || one.startsWith(`${place}/`));
  const kept = parts.filter((part) => {
    const [, object, name] = ADDITIONAL.exec(part) ?? [];
    const place = object === undefined ? FALSE.exec(part)?.[1] : `${object}/${name}`;
    return place === undefined || !isWrong(place);
  });
  return kept.join("; ");
}

/** @throws UserError (exit 2) when the file cannot be read, is not JSON or is not a schema that can be checked. */
export async function loadAnswerSchema(path: string, shown: string): Promise<AnswerSchema> {
  const text = await readGivenFile(path, `--output-schema ${shown}`);
  if (nestedTooDeep(text)) throw new UserError(`--output-schema ${shown}: is nested too deep`);
  const schema = parseObject(text, shown);
  // Lazy doors: only runs with a schema pay for a validator before their first request.
  const { schemaProblem, withUnicodePatterns } = await import("./schema-problem.ts");
  const problem = schemaProblem(schema);
  if (problem !== undefined) throw new UserError(`--output-schema ${shown}: cannot be used: ${problem}`);
  const { CfWorkerJsonSchemaValidator } = await import("@modelcontextprotocol/client/validators/cf-worker");
  let validate: (value: unknown) => { readonly valid: boolean; readonly errorMessage: string | undefined };
  try {
    validate = new CfWorkerJsonSchemaValidator({ shortcircuit: false }).getValidator(withUnicodePatterns(schema));
    // What cannot be followed (`{"$ref": "#"}`) shows with the first value.
    validate(null);
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
    const { valid, errorMessage: said = "" } = validate(value);
    if (valid) return undefined;
    const errorMessage = withoutFollowers(said);
    return errorMessage.length > MOST_SAID ? `${errorMessage.slice(0, MOST_SAID).toWellFormed()}…` : errorMessage;
  };
  return { schema, check };
}
