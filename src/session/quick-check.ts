/**
 * Recognises at a glance the records that are exactly as this program writes them: resume reads them all, and zod takes ten
 * times as long (measured over 10,000 records) and 10 ms to load. Says only yes or "look closer": what it accepts, the schemas
 * accept (a test compares them). Refuses: rejecting.
 */
import { isObject } from "../base/json.ts";
import { isEnvelope } from "./envelope.ts";
import { type Fields, named, SHAPES, type Shape, type Wanted } from "./record-shapes.ts";
import { type ReadRecord, type RecordType, SCHEMA_VERSION } from "./records.ts";

const ENVELOPE = named({ schema_version: "count", seq: "count", time: "text", type: "text" });
const NONE = named({});

const isText = (value: unknown): value is string => typeof value === "string";

function fits(value: unknown, wanted: Wanted): boolean {
  switch (wanted) {
    case "text":
      return isText(value);
    case "texts":
      return Array.isArray(value) && value.every(isText);
    case "texts by name":
      return isObject(value) && Object.values(value).every(isText);
    case "count":
      return typeof value === "number" && value >= 0 && Number.isFinite(value);
    case "number":
      return typeof value === "number" && Number.isFinite(value);
    case "number or null":
      return value === null || (typeof value === "number" && Number.isFinite(value));
    case "flag":
      return typeof value === "boolean";
    case "object":
      return isObject(value);
    default:
      if ("words" in wanted) return isText(value) && wanted.words.includes(value);
      if ("each" in wanted)
        return Array.isArray(value) && value.every((one) => isObject(one) && hasShape(one, wanted.each, NONE));
      return isObject(value) && hasShape(value, wanted, NONE);
  }
}

/** Every field that has to be there, and no others than those that may be; `besides` are not looked at. */
function hasShape(value: Readonly<Record<string, unknown>>, { required, optional, count }: Shape, besides: Fields) {
  let missing = count;
  for (const name of Object.keys(value)) {
    if (besides[name] !== undefined) continue;
    const demanded = required[name];
    const wanted = demanded ?? optional[name];
    if (wanted === undefined || !fits(value[name], wanted)) return false;
    if (demanded !== undefined) missing -= 1;
  }
  return missing === 0;
}

/** True only for a record that its schema accepts, with no field that this program does not write. */
export function isPlainRecord(record: Readonly<Record<string, unknown>>, type: RecordType): boolean {
  return hasShape(record, SHAPES[type], ENVELOPE);
}

/** What a glance tells of a parsed JSON value: a record (the very object), none of ours (undefined), or that its schema decides. */
export function glance(value: unknown): ReadRecord | "look closer" | undefined {
  if (!isEnvelope(value)) return undefined;
  if (value.schema_version > SCHEMA_VERSION || !Object.hasOwn(SHAPES, value.type))
    return { known: false, record: value } as ReadRecord;
  return isPlainRecord(value, value.type as RecordType) ? ({ known: true, record: value } as ReadRecord) : "look closer";
}
