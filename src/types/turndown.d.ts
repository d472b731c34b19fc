/** The one build of turndown that is used: without a DOM of its own. */
declare module "turndown/lib/turndown.browser.es.js" {
  export type TurndownNode = {
    readonly nodeName: string;
    readonly textContent: string | null;
    readonly parentNode: TurndownNode | null;
    readonly previousElementSibling: TurndownNode | null;
    readonly childNodes: ArrayLike<TurndownNode>;
    getAttribute(name: string): string | null;
  };
  export type TurndownRule = {
    readonly filter: string | readonly string[] | ((node: TurndownNode) => boolean);
    readonly replacement: (content: string, node: TurndownNode) => string;
  };
  export default class TurndownService {
    constructor(options?: Readonly<Record<string, unknown>>);
    addRule(key: string, rule: TurndownRule): this;
    remove(filter: string | readonly string[]): this;
    /** A DOM node, or its HTML where a DOM is built in. */
    turndown(input: unknown): string;
  }
}
