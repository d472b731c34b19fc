/**
 * The content blocks of an editor's prompt → the text a model reads. Links into the workspace become paths, embedded files
 * are set apart behind the prompt. Refuses: images, sound and binary resources, which no model here is sent (said, not dropped).
 */
import { fileURLToPath } from "node:url";
import type { ContentBlock } from "@agentclientprotocol/sdk";

export type PromptText = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly message: string };

/** A file of the workspace by its path from the root, as a person would write it; anything else by its address. */
function nameOf(uri: string, root: string): string {
  const url = uri.startsWith("file://") ? URL.parse(uri) : null;
  if (!url) return uri;
  let path: string;
  let fragment: string;
  try {
    fragment = decodeURIComponent(url.hash.slice(1));
    url.hash = "";
    path = fileURLToPath(url);
  } catch {
    return uri;
  }
  const prefix = root.endsWith("/") ? root : `${root}/`;
  const shown = path === root ? "." : path.startsWith(prefix) ? path.slice(prefix.length) : path;
  return `\`${shown}\`${fragment === "" ? "" : ` (${fragment.replace(/^L/, "lines ")})`}`;
}

/** A fence longer than any inside. */
function fenced(text: string): string {
  let longest = 2;
  for (const [run] of text.matchAll(/`{3,}/g)) longest = Math.max(longest, run.length);
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}

/** @param root real path of the workspace */
export function promptText(blocks: readonly ContentBlock[], root: string): PromptText {
  const words: string[] = [];
  const attached: string[] = [];
  for (const block of blocks) {
    if (block.type === "text") words.push(block.text);
    else if (block.type === "resource_link") {
      const named = nameOf(block.uri, root);
      words.push(named.startsWith("`") ? named : `[${block.title ?? block.name}](${block.uri})`);
    } else if (block.type === "resource") {
      const { resource } = block;
      const named = nameOf(resource.uri, root);
      if (!("text" in resource)) {
        return { ok: false, message: `${named} is not text: thndrs takes text resources only. Leave it out, or name its path.` };
      }
      words.push(named);
      attached.push(`${named}:\n${fenced(resource.text)}`);
    } else {
      const what = block.type === "image" ? "images" : "sound";
      return {
        ok: false,
        message: `thndrs takes no ${what} in a prompt (it said so when the session began). Send text, links or text files.`,
      };
    }
  }
  const text = [words.join(""), ...attached].join("\n\n").toWellFormed();
  if (text.trim() === "") return { ok: false, message: "the prompt is empty" };
  return { ok: true, text };
}
