#!/usr/bin/env python3
"""Checks of Neovim, Helix and Emacs, each as the guide configures it.

The configurations are the blocks of docs/guide/editors.md and of editors/tree-sitter-agentspeak/README.md. `whimbrel`,
the editors, tmux and a C compiler are on the PATH.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/guide/editors.md"
GRAMMARS = ROOT / "editors/tree-sitter-agentspeak"
PATIENCE = 60

SHOP = ROOT / "editors/test/shop"

failed = False


def check(editor, what, is_so, seen=""):
    """Prints what was found."""
    global failed
    failed |= not is_so
    print(f"ok   {editor}: {what}" if is_so else f"FAIL {editor}: {what}: {seen}", flush=True)


def blocks(page, heading, language):
    """Returns the fenced blocks of this language below a heading."""
    part = re.split(rf"(?m)^##+ {re.escape(heading)}$", page.read_text())[1]
    part = re.split(r"(?m)^## ", part)[0]
    return re.findall(rf"(?ms)^```{language}[^\n]*\n(.*?)^```$", part)


def block(page, heading, language):
    """Returns the only such block."""
    found = blocks(page, heading, language)
    if len(found) != 1:
        sys.exit(f"{page.relative_to(ROOT)}: {len(found)} blocks of {language} below {heading!r}, expected 1")
    return found[0]


class Home:
    """A home folder with the shop in it, for one editor."""

    def __init__(self, scratch, editor):
        self.path = Path(scratch) / editor
        self.shop = self.path / "shop"
        shutil.copytree(SHOP, self.shop)
        own = {"HOME": str(self.path), "XDG_RUNTIME_DIR": str(self.path), "TERM": "xterm-256color"}
        self.environment = {**os.environ, **own}
        for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"]:
            self.environment.pop(variable, None)

    def write(self, name, text):
        """Writes a file of configuration."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def type(self, script):
        """Runs a block of shell, in the folder of the grammars, as the page says."""
        subprocess.run(["bash", "-eu", "-c", script], cwd=GRAMMARS, env=self.environment, check=True)

    def run(self, *command, **options):
        """Runs a program in the shop's folder."""
        return subprocess.run(command, cwd=self.shop, env=self.environment, text=True, **options)


class Terminal:
    """A terminal with a program in it."""

    def __init__(self, home, command):
        self.home = home
        self.socket = str(home.path / "tmux")
        self.ask("new-session", "-d", "-x", "110", "-y", "30", command)

    def ask(self, *words):
        """Runs a command of tmux."""
        asked = self.home.run("tmux", "-f", "/dev/null", "-S", self.socket, *words, capture_output=True)
        return asked.stdout

    def keys(self, *keys):
        """Types keys."""
        self.ask("send-keys", *keys)

    def screen(self, coloured=False):
        """Returns what is on the screen."""
        return self.ask("capture-pane", "-p", *(["-e"] if coloured else []))

    def shows(self, text, coloured=False):
        """Waits for a text. Returns True once it is there."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if re.search(text, self.screen(coloured)):
                return True
            time.sleep(0.1)
        return False

    def until(self, is_so):
        """Waits until something is so."""
        until = time.monotonic() + PATIENCE
        while not (found := is_so()) and time.monotonic() < until:
            time.sleep(0.1)
        return found

    def end(self):
        """Ends the terminal and its program."""
        self.ask("kill-server")


def neovim(scratch):
    """Checks Neovim."""
    home = Home(scratch, "neovim")
    home.type(block(GRAMMARS / "README.md", "Neovim", "sh"))
    start = block(GRAMMARS / "README.md", "Neovim", "lua")
    server, debugger = block(GUIDE, "Neovim", "lua"), block(GUIDE, "Debugging", "lua")
    plugin = os.environ.get("NVIM_DAP")
    plugin = f"vim.opt.runtimepath:prepend({plugin!r})\n{debugger}" if plugin else ""
    home.write(".config/nvim/init.lua", f"{start}\n{server}\n{plugin}")
    checks = ["-c", f"luafile {ROOT}/editors/test/neovim.lua"]
    ended = home.run("nvim", "--headless", *checks, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
    for line in ended.stdout.splitlines():
        if line.startswith(("ok ", "FAIL ", "left out")):
            print(line)
    check("Neovim", "ends in order", ended.returncode == 0, ended.stdout)


def helix(scratch):
    """Checks Helix."""
    home = Home(scratch, "helix")
    settings = block(GRAMMARS / "README.md", "Helix", "toml")
    home.write(".config/helix/languages.toml", settings)
    home.write(".config/helix/config.toml", "[editor]\nend-of-line-diagnostics = 'hint'\n")
    home.type(block(GRAMMARS / "README.md", "Helix", "sh"))
    health = home.run("hx", "--health", "agentspeak", capture_output=True).stdout
    health = re.sub(r"\x1b\[[0-9;]*m", "", health)
    for part in ["whimbrel", "Tree-sitter parser: ✓", "Highlight queries: ✓"]:
        check("Helix", f"health says {part}", part in health, health)
    terminal = Terminal(home, "hx bob.asl")
    try:
        follow(terminal, home)
    finally:
        terminal.end()


def follow(terminal, home):
    """Types into Helix."""
    file = home.shop / "bob.asl"

    def look(what, text, **options):
        check("Helix", what, terminal.shows(text, **options), terminal.screen())

    look("diagnostic of a goal without plans", "goal `thank`")
    look("comments have their colour", r"\x1b\[38[0-9;]*mtea\.", coloured=True)
    terminal.keys("/", r"\.print", "Enter")
    look("finds a text", r"\b6:12\b")
    terminal.keys("Space", "k")
    look("hover shows the reference", r"\.print\(\.\.\)")
    terminal.keys("Escape")
    check("Helix", "hover goes", terminal.until(lambda: ".print(..)" not in terminal.screen()), terminal.screen())
    terminal.keys("g", "g", "/", "serve", "Enter")
    look("finds a goal", r"\b5:12\b")
    terminal.keys("g", "d")
    look("definition is the plan", r"\b8:3\b")
    terminal.keys("Space", "r")
    look("rename asks for a name", "rename-to:serve")
    terminal.keys("C-u", "attend", "Enter")
    look("rename changes plan and goal", r"(?s)!attend\(ann\).*\+!attend\(Who\)")
    terminal.keys(":", "format", "Enter")
    look("formatting", r"\?stock\(tea, N\)")
    terminal.keys(":", "w", "Enter")
    is_written = terminal.until(lambda: "attend(Who)\n   <- ?stock(tea, N);" in file.read_text())
    check("Helix", "writes the file", is_written, file.read_text())
    terminal.keys("g", "e", "o", "+!x <- !a")
    look("completion offers goals", r"attend +event")


def emacs(scratch):
    """Checks Emacs."""
    home = Home(scratch, "emacs")
    home.type(block(GRAMMARS / "README.md", "Emacs", "sh"))
    settings = [block(GRAMMARS / "README.md", "Emacs", "elisp")]
    settings += [block(GUIDE, heading, "elisp") for heading in ["Emacs", "Debugging"]]
    home.write(".emacs.d/init.el", "\n".join(settings))
    files = ["-l", home.path / ".emacs.d/init.el", "-l", ROOT / "editors/test/emacs.el"]
    ended = home.run("emacs", "--batch", *files, "-f", "check-all", capture_output=True, timeout=600)
    print(ended.stdout, end="")
    check("Emacs", "ends in order", ended.returncode == 0, ended.stderr)


def main():
    """Checks the editors that are named, or all."""
    chosen = sys.argv[1:] or ["neovim", "helix", "emacs"]
    with tempfile.TemporaryDirectory() as scratch:
        for editor in chosen:
            {"neovim": neovim, "helix": helix, "emacs": emacs}[editor](scratch)
    sys.exit(failed)


if __name__ == "__main__":
    main()
