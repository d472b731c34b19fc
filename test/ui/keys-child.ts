/** Child of key-source.test.ts, on a terminal: reads a key itself, lets another program read one, and so on. Says when it waits. */
import { createKeySource } from "../../src/ui/key-source.ts";
import { createRawMode, isTty, ttySize } from "../../src/ui/tty.ts";

function modes(): string {
  const { stdout } = Bun.spawnSync(["stty", "-a"], { stdin: "inherit" });
  return (stdout.toString().match(/-?\b(?:icanon|isig|echo)\b/g) ?? []).join(" ");
}

const source = createKeySource();
const setRawMode = createRawMode();
console.log(`terminal ${isTty(0)} ${isTty(1)} size ${ttySize(1)}`);
for (let round = 0; round < 3; round++) {
  const own = Promise.withResolvers<string>();
  source.start(
    (bytes) => own.resolve(new TextDecoder().decode(bytes)),
    () => own.resolve("the end"),
  );
  const raw = setRawMode(true);
  console.log(`raw ${raw} ${modes()}`);
  console.log("press");
  console.log(`got ${await own.promise}`);
  source.stop();
  setRawMode(false);
  console.log(modes());
  const other = Bun.spawn(["head", "-n", "1"], { stdin: "inherit", stdout: "pipe" });
  console.log("press");
  console.log(`another got ${(await new Response(other.stdout).text()).trim()}`);
}
