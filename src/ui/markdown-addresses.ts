/**
 * Addresses that stand in a text by themselves. Without hyperlinks of the terminal the renderer writes where a link leads behind
 * it, also where that is what the link says. Pure. Refuses: blocks with other links, which must tell where they lead.
 */

/** Outside of `[text](address)`. More than the renderer makes a link of: the rendering decides. */
const BARE = /(?<!\]\(<?)(?:https?|ftp):\/\/|(?<!\/\/)www\.|[\w.+-]@\w/i;
const LINK = /\x1b\]8;;([^\x07\x1b\n]*)\x1b\\([^\x07]*?)\x1b\]8;;\x1b\\/g;
/** What a link's text has besides its characters where it was wrapped: colours, line ends, margins, the bar of a quotation. */
const AROUND = /\x1b\[[0-9;]*m|[\s│]/g;

/** True where a rendering with hyperlinks is worth a look. */
export function hasBareAddress(text: string): boolean {
  return BARE.test(text);
}

/** A rendering with hyperlinks, without them; undefined where one of them leads elsewhere than it says. */
export function withoutTargets(rendered: string): string | undefined {
  let tells = true;
  const text = rendered.replace(LINK, (_whole, target: string, shown: string) => {
    const said = shown.replace(AROUND, "");
    tells &&= said !== "" && [said, `http://${said}`, `mailto:${said}`].includes(target);
    return shown;
  });
  return tells && !text.includes("\x1b]") ? text : undefined;
}
