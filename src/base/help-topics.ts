/** The help topics of this build, in reading order. Their text is in src/docs/, embedded by topic-texts.ts. */
export const TOPICS = [
  "getting-started",
  "configuration",
  "providers",
  "tools",
  "context",
  "skills",
  "sessions",
  "print-mode",
  "repl",
  "mcp",
  "acp",
  "security",
  "exit-codes",
] as const;

export type Topic = (typeof TOPICS)[number];
