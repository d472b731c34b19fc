/** Which build this is. The constants are defined by scripts/build.ts; running from source they are absent. */
declare const THNDRS_VERSION: string | undefined;
declare const THNDRS_COMMIT: string | undefined;

export const version: string = typeof THNDRS_VERSION === "string" ? THNDRS_VERSION : "0.0.0-source";
export const commit: string = typeof THNDRS_COMMIT === "string" ? THNDRS_COMMIT : "source";
