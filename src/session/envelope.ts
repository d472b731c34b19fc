/** What every line of a log begins with (sessions.md, Records). By hand: zod would copy each record, and resume reads them all. Refuses: bodies. */

export type Envelope = {
  readonly schema_version: number;
  readonly seq: number;
  /** ISO 8601. */
  readonly time: string;
  readonly type: string;
} & Readonly<Record<string, unknown>>;

/** As this program writes it, on a day that every month has. */
const OWN = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

function isWhole(number: unknown, least: number): boolean {
  return Number.isSafeInteger(number) && (number as number) >= least;
}

/** False for anything whose place, time or type could not be told. */
export function isEnvelope(value: unknown): value is Envelope {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { schema_version, seq, time, type } = value as Readonly<Record<string, unknown>>;
  return (
    isWhole(schema_version, 1) &&
    isWhole(seq, 0) &&
    typeof time === "string" &&
    (OWN.test(time) || (ISO.test(time) && !Number.isNaN(Date.parse(time)))) &&
    typeof type === "string" &&
    type !== ""
  );
}
