/** What a session's log says about its ACP side: the agent's session to load. Refuses: writing. */
import { newTally, readRecords } from "../session/read.ts";

/** The session that agent had when this conversation was left; the last one counts. */
export async function previousSession(logPath: string | undefined, agent: string): Promise<string | undefined> {
  if (logPath === undefined) return undefined;
  let found: string | undefined;
  for await (const batch of readRecords(logPath, newTally(), { only: new Set(["acp_session"]) })) {
    for (const { known, record } of batch) {
      if (known && record.type === "acp_session" && record.agent_name === agent) found = record.acp_session_id;
    }
  }
  return found;
}
