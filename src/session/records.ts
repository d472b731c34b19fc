/** Session record shapes (sessions.md, Records): the contract of the log. */
export type SessionRecord = { readonly type: string } & Readonly<Record<string, unknown>>;
