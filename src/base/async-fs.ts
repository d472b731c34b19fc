/**
 * The part of `node:fs/promises` that is used on the way to a first request, each function loaded when it is first called: the
 * module is a third of a millisecond of every start. Refuses: everything of its own.
 */
import { once } from "./once.ts";

export type { FileHandle } from "node:fs/promises";

type Promises = typeof import("node:fs/promises");

const loaded = once((): Promises => process.getBuiltinModule("node:fs/promises"));

function later<Name extends keyof Promises>(name: Name): Promises[Name] {
  const call = (...args: unknown[]): unknown => (loaded()[name] as (...args: unknown[]) => unknown)(...args);
  return call as Promises[Name];
}

export const lstat = later("lstat");
export const mkdir = later("mkdir");
export const open = later("open");
export const readdir = later("readdir");
export const readFile = later("readFile");
export const realpath = later("realpath");
export const rm = later("rm");
export const stat = later("stat");
