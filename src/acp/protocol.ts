/** The protocol's own types, for app/: a room above may name them without loading the library. */
export type { McpServer, SessionNotification, SessionUpdate } from "@agentclientprotocol/sdk";
