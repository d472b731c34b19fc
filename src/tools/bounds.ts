/** The bounds of every tool (tools.md "Bounds"), in one place and named in tests. Refuses: settings, behaviour. */

/** Results of a search or a listing when the call names no `limit`. */
export const MAX_RESULTS = 100;
/** What `limit` can raise it to. */
export const MAX_RESULTS_CEILING = 1000;
/** UTF-8 bytes of one result's text. */
export const MAX_RESULT_BYTES = 65_536;
/** Characters of one line. */
export const MAX_LINE_CHARS = 512;
/** Lines of one read. */
export const MAX_READ_LINES = 2000;
/** Time for one search or listing. */
export const SEARCH_TIMEOUT_MS = 10_000;
/** From TERM to KILL for a search engine, which has nothing to clean up. */
export const ENGINE_GRACE_MS = 500;
/** Lines kept of each shell stream's beginning and end. */
export const SHELL_HEAD_LINES = 200;
export const SHELL_TAIL_LINES = 200;
/** Unread output kept of one background process. */
export const BACKGROUND_BUFFER_BYTES = 262_144;
