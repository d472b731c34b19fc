/**
 * How many words of a command say what it does: what a lasting permission remembers of it. Refuses: remembering (approvals.ts).
 */
import { once } from "../base/once.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Programs that run, or take away, whatever their arguments or the files they read say. */
const runners = once(() =>
  words(`
    sh bash zsh fish dash ash ksh mksh rbash tcsh csh nu elvish xonsh busybox toybox cmd powershell pwsh osascript eval exec
    env sudo doas su runuser pkexec gosu su-exec setpriv capsh sg newgrp runcon chroot unshare nsenter bwrap firejail proot
    fakeroot systemd-run systemd-nspawn machinectl start-stop-daemon
    xargs nohup nice ionice chrt taskset numactl time timeout stdbuf unbuffer setsid flock script parallel watch entr watchexec
    chronic expect strace ltrace gdb lldb valgrind perf hyperfine xvfb-run dbus-run-session direnv dotenv at batch crontab
    tmux screen dtach ldd
    ssh sshpass mosh scp sftp rsync docker podman nerdctl kubectl vagrant nix nix-shell nix-build guix
    python pypy ipython node nodejs bun deno tsx ts-node ruby irb perl raku php lua luajit tclsh wish awk gawk mawk nawk sed
    r rscript julia elixir iex mix erl escript ghci runghc runhaskell stack cabal ocaml dune swift scala kotlin groovy clojure
    clj java jshell jbang guile racket sbcl emacs vi vim nvim ed ex
    npx pnpx bunx uvx pipx pipenv pdm hatch rye tox nox bundle rake gem corepack lerna nx turbo conda mamba micromamba pyenv
    rbenv nvm fnm volta asdf mise rtx
    make gmake bmake cmake ctest ninja meson scons bazel bazelisk buck just task mage invoke inv fab ant mvn mvnw gradle gradlew
    sbt lein cargo go dotnet msbuild xcodebuild
    find fd fdfind rg ag ack fzf sort split tar bsdtar zip less more man git-shell hg svn rm dd curl wget nc ncat netcat socat
  `),
);
/** Programs whose second word is a command of its own. */
const withSubcommand = once(() => words("git npm pnpm yarn gh brew apt apt-get pip poetry uv rustup"));
/** Second words behind which anything may be run: `npm run` what the project says, `git rebase` what an option says. */
const runningSubcommands = once(() =>
  words(`
    run exec x dlx run-script rum urn test t tst it install-test start stop restart explore create init node workspace workspaces
    tool shell sh script bundle extension alias codespace
    bisect rebase submodule difftool mergetool filter-branch for-each-repo hook grep clone fetch pull push ls-remote archive
    config send-email instaweb daemon upload-pack receive-pack
  `),
);

/** `python3.12`, `/usr/bin/python` and `python.exe` are `python`. */
function familyOf(program: string): string {
  const name = (program.split("/").at(-1) ?? program).toLowerCase().replace(/\.exe$/, "");
  return name.replace(/[-.]?\d[\d.]*$/, "") || name;
}

/** The words a command is remembered by; undefined when only all of them will do. */
export function tellingWords(argv: readonly string[]): readonly string[] | undefined {
  const [program = "", second = ""] = argv;
  const name = familyOf(program);
  // A loader runs the program it is given.
  if (runners().has(name) || /^ld[-.]/.test(name)) return undefined;
  if (!withSubcommand().has(name)) return [program];
  return second === "" || second.startsWith("-") || runningSubcommands().has(second) ? undefined : [program, second];
}
