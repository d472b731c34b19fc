/**
 * What records say of a session as a whole: its id, title, model, turns, usage and the files it changed. Refuses: the conversation
 * (replay.ts).
 */
import type { Usage } from "../types/message.ts";
import { modelName } from "./model-name.ts";
import type { StoredRecord } from "./records.ts";
import { cleanTitle } from "./title.ts";
import { addUsage, usageOf } from "./totals.ts";

export type SessionFacts = {
  readonly sessionId?: string;
  readonly title: string;
  /** `provider/id` as last used. */
  readonly model?: string;
  readonly turns: number;
  readonly totals: { readonly requests: number; readonly usage: Usage };
  readonly changedFiles: readonly string[];
};

/** Of a prompt that is to give a title. */
const PROMPT_CHARACTERS = 16_384;

export class FactFold {
  readonly #changed = new Set<string>();
  readonly #requests = new Set<string>();
  #usage: Usage = {};
  #usageRecords = 0;
  #turns = 0;
  #sessionId: string | undefined;
  #metaTitle = "";
  #renamed: string | undefined;
  #firstPrompt = "";
  #model: string | undefined;

  add(record: StoredRecord): void {
    switch (record.type) {
      case "session_meta":
        this.#sessionId = record.session_id;
        this.#metaTitle ||= record.title;
        this.#model ??= modelName(record.provider, record.model);
        break;
      case "prompt_metadata":
        this.#model = modelName(record.provider, record.model);
        break;
      case "session_renamed":
        this.#renamed = record.title;
        break;
      case "user":
        this.#firstPrompt ||= record.text.slice(0, PROMPT_CHARACTERS);
        this.#noteTurn(record.turn_id);
        break;
      case "usage":
        this.#usageRecords++;
        if (record.request !== undefined) this.#requests.add(`${record.turn_id}#${record.request}`);
        this.#usage = addUsage(this.#usage, usageOf(record));
        break;
      case "file_write":
        if (record.status === "ok") this.#changed.add(record.path);
        break;
    }
  }

  finish(): SessionFacts {
    return {
      ...(this.#sessionId === undefined ? {} : { sessionId: this.#sessionId }),
      title: this.#renamed || this.#metaTitle || cleanTitle(this.#firstPrompt),
      ...(this.#model === undefined ? {} : { model: this.#model }),
      turns: this.#turns,
      totals: { requests: Math.max(this.#usageRecords, this.#requests.size), usage: this.#usage },
      changedFiles: [...this.#changed],
    };
  }

  /** Turn ids go on after the highest number used, also where a damaged line took its `user` record with it. */
  #noteTurn(turnId: string): void {
    const number = Number(/^turn-(\d{1,9})$/.exec(turnId)?.[1] ?? 0);
    this.#turns = Math.max(this.#turns + 1, number);
  }
}
