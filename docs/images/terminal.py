#!/usr/bin/env python3
"""Draws what a command prints in a terminal, as SVG.

    docs/images/terminal.py OUT.svg COMMAND [ARGUMENT ...]

The pictures of terminals are made so, from real output:

    docs/images/terminal.py docs/images/contract-net.svg whimbrel run examples/contract-net --summary
"""

import html
import re
import subprocess
import sys

WIDTH, LINE, MARGIN = 7.8, 18, 16
GROUND, INK, DIM, PROMPT = "#101418", "#d6dde4", "#7f8b97", "#7fd1a6"
CUBE = (0, 95, 135, 175, 215, 255)


def color_of(code):
    """The colour of xterm's palette, lightened for a dark ground."""
    code -= 16
    parts = [CUBE[code // 36], CUBE[code // 6 % 6], CUBE[code % 6]]
    return "#" + "".join(f"{min(255, 70 + part * 3 // 4):02x}" for part in parts)


def spans(line):
    """The pieces of a line, each with its colour."""
    color = INK
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        found = re.fullmatch(r"\x1b\[([0-9;]*)m", piece)
        if not found:
            if piece:
                yield color, piece
            continue
        indexed = re.search(r"38;5;(\d+)", found[1])
        color = color_of(int(indexed[1])) if indexed else DIM if found[1] == "2" else INK


def main():
    out, command = sys.argv[1], sys.argv[2:]
    env_command = [command[0], "--color", "always", *command[1:]]
    text = subprocess.run(env_command, capture_output=True, text=True, check=True).stdout
    shown = "whimbrel " + " ".join(command[1:])
    lines = [[(PROMPT, "$ "), (INK, shown)]] + [list(spans(line.rstrip())) for line in text.splitlines()]
    columns = max(sum(len(piece) for _, piece in line) for line in lines)
    width, height = columns * WIDTH + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    rows = []
    for number, line in enumerate(lines):
        pieces = "".join(f'<tspan fill="{color}">{html.escape(piece)}</tspan>' for color, piece in line)
        # A stated length: fonts differ in the width of a letter, and of lines and arrows.
        length = f' textLength="{sum(len(piece) for _, piece in line) * WIDTH:.1f}"' if line else ""
        rows.append(f'<text x="{MARGIN}" y="{MARGIN + 13 + number * LINE}"{length}>{pieces}</text>')
    with open(out, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
                   f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13">\n'
                   f'<title>{html.escape(shown)}</title>\n<style>text {{ white-space: pre }}</style>\n'
                   f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>\n' + "\n".join(rows) + "\n</svg>\n")


main()
