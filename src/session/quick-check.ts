/**
 * Recognises at a glance the records that make up most of a log, when they are exactly as this program writes them: resume
 * reads them all, and zod takes ten times as long (measured over 10,000 records). Says only yes or "look closer": what it
 * accepts, the schemas accept (a test compares them). Refuses: rejecting.
 */
import type { RecordType } from "./records.ts";

type Kind = "text" | "count" | "flag" | "object";
type Fields = Readonly<Record<string, Kind | readonly string[]>>;
type Shape = { readonly required: Fields; readonly optional: Fields };

const TURN = { turn_id: "text" } as const;
const REQUEST = { request: "count" } as const;

/** In the words of record-schemas.ts. Members that are rare (`mcp`) are left to it. */
const SHAPES: { readonly [Type in RecordType]?: Shape } = {
  user: { required: { ...TURN, text: "text" }, optional: {} },
  assistant_finished: { required: { ...TURN, text: "text" }, optional: { partial: "flag", ...REQUEST } },
  reasoning_finished: { required: { ...TURN, text: "text" }, optional: REQUEST },
  usage: {
    required: TURN,
    optional: {
      input_tokens: "count",
      output_tokens: "count",
      cache_read_tokens: "count",
      cache_write_tokens: "count",
      reasoning_tokens: "count",
      cost_usd: "count",
      ...REQUEST,
    },
  },
  tool_started: { required: { ...TURN, call_id: "text", name: "text", arguments: "object" }, optional: REQUEST },
  tool_finished: {
    required: {
      ...TURN,
      call_id: "text",
      status: ["ok", "failed", "cancelled"],
      output: "text",
      truncated: "flag",
      elapsed_ms: "count",
    },
    optional: {},
  },
};

const ENVELOPE: ReadonlySet<string> = new Set(["schema_version", "seq", "time", "type"]);

function fits(value: unknown, kind: Kind | readonly string[]): boolean {
  switch (kind) {
    case "text":
      return typeof value === "string";
    case "count":
      return typeof value === "number" && value >= 0 && Number.isFinite(value);
    case "flag":
      return typeof value === "boolean";
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    default:
      return typeof value === "string" && kind.includes(value);
  }
}

/** A record may have a field called `constructor`. */
function own(fields: Fields, name: string): Kind | readonly string[] | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** True only for a record that its schema accepts, with no field that this program does not write. */
export function isPlainRecord(record: Readonly<Record<string, unknown>>, type: RecordType): boolean {
  const shape = SHAPES[type];
  if (!shape) return false;
  let missing = Object.keys(shape.required).length;
  for (const name of Object.keys(record)) {
    if (ENVELOPE.has(name)) continue;
    const wanted = own(shape.required, name);
    const kind = wanted ?? own(shape.optional, name);
    if (kind === undefined || !fits(record[name], kind)) return false;
    if (wanted !== undefined) missing -= 1;
  }
  return missing === 0;
}
