/**
 * Changes one top-level key of a TOML text and nothing else: comments, order and the other bytes stay. Refuses: anything
 * that does not read back as intended.
 */
import { UserError } from "../base/user-error.ts";
import { findKeyLines } from "./lines.ts";
import { parseConfigFile } from "./toml.ts";

/**
 * `text` with `key = "value"`, in place of the line that sets the key, else before everything else.
 * @throws UserError when the text is wrong already, or the key is written in a way that cannot be replaced safely
 */
export function setTopLevelKey(file: string, text: string, key: string, value: string): string {
  const setting = `${key} = ${JSON.stringify(value)}`;
  const line = findKeyLines(text).get(key);
  const lines = text.split("\n");
  const old = line === undefined ? undefined : lines[line - 1];
  if (line !== undefined && old !== undefined) {
    const comment = /^[^"'#]*(?:"[^"]*"|'[^']*')\s*(#.*?)?\r?$/.exec(old)?.[1];
    lines[line - 1] = `${comment ? `${setting}  ${comment}` : setting}${old.endsWith("\r") ? "\r" : ""}`;
  } else lines.unshift(setting);
  const changed = lines.join("\n");
  const read = parseConfigFile(file, changed, undefined).find(
    (declared) => declared.path.length === 1 && declared.path[0] === key,
  );
  if (read?.value !== value) throw new UserError(`${file}: ${key} could not be set; write ${setting} into it yourself`);
  return changed;
}
