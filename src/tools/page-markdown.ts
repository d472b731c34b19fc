/**
 * An HTML page as readable Markdown: the article without menus and advertisements, links kept and absolute. Loaded with the
 * first HTML page: a DOM and two libraries hang on it. Refuses: the network, running anything a page brings.
 */
import { Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom/worker";
import TurndownService, { type TurndownNode } from "turndown/lib/turndown.browser.es.js";
import { oneLine } from "../base/text.ts";
import { decodeEntities, measureHtml, plainText } from "./page-plain.ts";

export type Page = {
  /** One line; "" when the page has none. */
  readonly title: string;
  readonly markdown: string;
  /** The page is too deep or too broken for the article extraction: `markdown` is its bare text. */
  readonly plain: boolean;
  /** Only the beginning of a very large page was looked at. */
  readonly partial: boolean;
};

/** More than this of a page takes longer than anybody waits (measured: about a second), and far longer for deep nesting. */
const MAX_TAGS = 20_000;
const MAX_DEPTH = 300;
const MAX_CHARS = 1_000_000;
/** An article shorter than this is doubted when the page says more. */
const SHORT_ARTICLE = 500;

const NOISE =
  "script,style,noscript,template,svg,iframe,object,embed,canvas,form,dialog,[hidden],[style*='display:none'],[style*='display: none'],body title";

type Dom = ReturnType<typeof parseHTML>["document"];

function titleOf(html: string): string {
  const [, title = ""] = /<title\b[^>]{0,200}>([^<]{0,2000})/i.exec(html.slice(0, 200_000)) ?? [];
  return oneLine(decodeEntities(title), 300);
}

function absolute(href: string, base: string): string | undefined {
  try {
    const url = new URL(href, base);
    return /^(?:https?|mailto|ftp):$/.test(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

/** Links and images with whole addresses; what leads nowhere (scripts, embedded data) keeps its words only. */
function makeAbsolute(document: Dom, pageUrl: string): void {
  const declared = document.querySelector("base[href]")?.getAttribute("href");
  const base = (declared && absolute(declared, pageUrl)) || pageUrl;
  for (const [selector, name] of [
    ["a[href]", "href"],
    ["img[src]", "src"],
  ] as const) {
    for (const element of document.querySelectorAll(selector)) {
      const written = element.getAttribute(name) ?? "";
      // Links within the page (every heading of a manual has one) lead nowhere for a reader of text.
      const target = written.startsWith("#") ? undefined : absolute(written, base);
      if (target === undefined) element.removeAttribute(name);
      else element.setAttribute(name, target);
    }
  }
}

/** A cell of a table: one line, no bars. */
function cell(content: string): string {
  return content.replace(/\s+/g, " ").trim().replaceAll("|", "\\|");
}

function isHeadRow(node: TurndownNode): boolean {
  const parent = node.parentNode?.nodeName;
  if (parent === "THEAD") return node.previousElementSibling === null;
  return node.previousElementSibling === null && (parent === "TABLE" || node.parentNode?.previousElementSibling === null);
}

function createService(): TurndownService {
  const service = new TurndownService({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-", emDelimiter: "*" });
  /** Items seen of each list: they come in order. */
  const numbers = new WeakMap<TurndownNode, number>();
  service.addRule("cell", { filter: ["th", "td"], replacement: (content) => ` ${cell(content)} |` });
  service.addRule("row", {
    filter: "tr",
    replacement: (content, node) => {
      const row = `|${content.replaceAll("\n", " ")}`;
      const columns = Array.from(node.childNodes).filter((child) => child.nodeName === "TH" || child.nodeName === "TD").length;
      return isHeadRow(node) ? `\n${row}\n|${" --- |".repeat(columns)}` : `\n${row}`;
    },
  });
  service.addRule("sections", { filter: ["thead", "tbody", "tfoot"], replacement: (content) => content });
  service.addRule("item", {
    filter: "li",
    replacement: (content, node) => {
      const list = node.parentNode;
      const number = list === null ? 1 : (numbers.get(list) ?? 0) + 1;
      if (list !== null) numbers.set(list, number);
      const mark = list?.nodeName === "OL" ? `${number}. ` : "- ";
      return `${mark}${content.trim().replaceAll("\n", `\n${" ".repeat(mark.length)}`)}\n`;
    },
  });
  service.addRule("table", { filter: "table", replacement: (content) => `\n\n${content.trim()}\n\n` });
  service.addRule("image", {
    filter: "img",
    replacement: (_, node) => {
      const alt = oneLine(node.getAttribute("alt") ?? "");
      const src = node.getAttribute("src");
      return alt === "" ? "" : src ? `![${alt}](${src})` : alt;
    },
  });
  service.addRule("emptyLink", {
    filter: (node) => node.nodeName === "A" && (node.getAttribute("href") === null || (node.textContent ?? "").trim() === ""),
    replacement: (content) => content,
  });
  return service;
}

function visibleLength(document: Dom): number {
  return oneLine(document.body?.textContent ?? "").length;
}

function extract(html: string, pageUrl: string): { readonly title: string; readonly markdown: string } {
  const { document } = parseHTML(/<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`);
  for (const element of [...document.querySelectorAll(NOISE)]) element.remove();
  makeAbsolute(document, pageUrl);
  const whole = visibleLength(document);
  const service = createService();
  // Readability takes the document apart.
  const copy = document.cloneNode(true) as Dom;
  const article = new Readability(copy as unknown as Document, { disableJSONLD: true, keepClasses: true }).parse();
  const title = oneLine(article?.title ?? "");
  const found = oneLine(article?.textContent ?? "").length;
  // Indexes and front pages have no article: there the links are the content.
  const useArticle = article?.content && (found >= SHORT_ARTICLE || found * 2 >= whole);
  const source = useArticle ? parseHTML(`<html><body>${article.content}</body></html>`).document.body : document.body;
  return { title, markdown: source ? service.turndown(source).trim() : "" };
}

/** Never throws: a page that the libraries cannot take is read as bare text. `pageUrl`: what links are relative to. */
export function pageToMarkdown(html: string, pageUrl: string): Page {
  const title = titleOf(html);
  const bare = (): Page => ({ title, markdown: plainText(html), plain: true, partial: false });
  const { depth, end } = measureHtml(html.slice(0, MAX_CHARS), MAX_TAGS);
  if (depth > MAX_DEPTH) return bare();
  try {
    const page = extract(html.slice(0, end), pageUrl);
    return page.markdown === "" ? bare() : { ...page, title: title || page.title, plain: false, partial: end < html.length };
  } catch {
    // Whatever is wrong in there is wrong with the page: its words are still worth having.
    return bare();
  }
}
