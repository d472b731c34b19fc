import { expect, test } from "bun:test";
import { readdirSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { overwriteInPlace } from "../../src/base/file-in-place.ts";
import { canUnshare } from "../support/namespaces.ts";
import { tempDir } from "../support/temp.ts";

const place = (temp: string, target: string) => ({ temp: () => temp, target: () => target, expected: undefined });

test("the file stays the same one, whether the new bytes are more or less", async () => {
  await using dir = await tempDir({ target: "old bytes\n", longer: "x".repeat(3_000_000), shorter: "y" });
  const before = statSync(dir.at("target")).ino;
  for (const name of ["longer", "shorter"]) {
    overwriteInPlace(place(dir.at(name), dir.at("target")));
    expect(await dir.read("target")).toBe(await dir.read(name));
  }
  expect(statSync(dir.at("target")).ino).toBe(before);
});

test("a write that fails half-way leaves the old bytes", async () => {
  await using dir = await tempDir({ target: "the old bytes\n", new: "n".repeat(2_500_000) });
  const full = (fd: number, data: Uint8Array, at: number): number => {
    if (at > 0) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
    return writeSync(fd, data, 0, 5, at);
  };
  expect(() => overwriteInPlace(place(dir.at("new"), dir.at("target")), full)).toThrow("no space");
  expect(await dir.read("target")).toBe("the old bytes\n");
});

// Mounting takes a mount namespace of one's own: skipped where `unshare -m` is not permitted.
test.skipIf(!canUnshare("-m"))("a file that is a mount point is edited, replaced and written as one of our own", async () => {
  await using dir = await tempDir({ "outside/f.txt": "one\ntwo\n", "ws/f.txt": "", "ws/other.txt": "o\n" });
  const module = (path: string): string => JSON.stringify(join(import.meta.dir, "../..", path));
  const code = `
    const { fileTools } = await import(${module("test/tools/file-context.ts")});
    const { writePatch } = await import(${module("src/tools/write.ts")});
    const { writeOwnFile } = await import(${module("src/base/files.ts")});
    const tools = await fileTools(${JSON.stringify(dir.at("ws"))});
    const patch = async (patch) => (await tools.run(writePatch, { patches: [{ path: "f.txt", ...patch }] })).text.split("\\n")[0];
    console.log(await patch({ op: "edit", old_string: "two", new_string: "2, and more" }));
    console.log(await patch({ op: "replace", content: "three\\n" }));
    console.log(JSON.stringify(await writeOwnFile(${JSON.stringify(dir.at("ws/f.txt"))}, "own\\n", 0o640)));`;
  const script = 'mount --bind "$1" "$2" && exec "$3" -e "$4"';
  const argv = ["unshare", "-m", "sh", "-c", script, "sh", dir.at("outside/f.txt"), dir.at("ws/f.txt"), process.execPath, code];
  const child = Bun.spawn(argv, { stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect(err).toBe("");
  expect(out).toMatch(/^edited f\.txt: .*\nreplaced f\.txt: .*\n\{"ok":true\}\n$/);
  expect(await dir.read("outside/f.txt")).toBe("own\n");
  expect(statSync(dir.at("outside/f.txt")).mode & 0o777).toBe(0o640);
  expect(readdirSync(dir.at("ws")).sort()).toEqual(["f.txt", "other.txt"]);
});
