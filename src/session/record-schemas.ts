/**
 * Zod schemas of every record type, for readers. Loaded only for a record that is not as this program writes it (zod costs
 * start-up time); writers never come here. Objects are loose: fields a newer program added are kept. Refuses: unknown types
 * (a glance says "foreign").
 */
import { z } from "zod";
import { glance } from "./quick-check.ts";
import { type Kind, SHAPES, type Shape, type Wanted } from "./record-shapes.ts";
import type { ReadRecord, RecordType, StoredRecord } from "./records.ts";

const KINDS: { readonly [kind in Kind]: z.ZodType } = {
  text: z.string(),
  texts: z.array(z.string()),
  "texts by name": z.record(z.string(), z.string()),
  count: z.number().nonnegative(),
  number: z.number(),
  "number or null": z.number().nullable(),
  flag: z.boolean(),
  object: z.record(z.string(), z.unknown()),
};

function schemaOf(wanted: Wanted): z.ZodType {
  if (typeof wanted === "string") return KINDS[wanted];
  if ("words" in wanted) return z.enum([...wanted.words]);
  return "each" in wanted ? z.array(objectOf(wanted.each)) : objectOf(wanted);
}

function objectOf({ required, optional }: Shape): z.ZodType {
  const fields = Object.entries(required).map(([name, wanted]) => [name, schemaOf(wanted)] as const);
  const others = Object.entries(optional).map(([name, wanted]) => [name, schemaOf(wanted).optional()] as const);
  return z.looseObject(Object.fromEntries([...fields, ...others]));
}

/** The schema of a record without its envelope. */
export function recordSchema(type: RecordType): z.ZodType {
  return objectOf(SHAPES[type]);
}

/**
 * Judges parsed JSON values. Undefined: not a record of ours (wrong shape). A known record keeps the very object that was
 * parsed, so nothing is lost on export.
 */
export function createClassifier(): (value: unknown) => ReadRecord | undefined {
  const schemas = new Map<RecordType, z.ZodType>();
  return (value) => {
    const seen = glance(value);
    if (seen !== "look closer") return seen;
    const record = value as StoredRecord;
    const schema = schemas.get(record.type) ?? recordSchema(record.type);
    schemas.set(record.type, schema);
    return schema.safeParse(record).success ? { known: true, record } : undefined;
  };
}
