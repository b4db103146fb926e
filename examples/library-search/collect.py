#!/usr/bin/env python3
"""Makes the three collections again from clones of the repositories that they come from.

    collect.py PEPS_CLONE EIPS_CLONE ERCS_CLONE RFCS_CLONE

Of each document: its title, and the beginning of its text up to BYTES_MAX, cut at the end of a paragraph. Headers with people's
addresses, images and links' targets are left out, and so are documents that do not say that everybody may copy them, or whose
beginning says next to nothing.
"""

import pathlib
import re
import subprocess
import sys

BYTES_MAX = 1_500
BYTES_MIN = 200
HERE = pathlib.Path(__file__).parent / "collections"
# Hosts of package registries go out of date, and so do addresses and keys.
STALE = re.compile(r"pypi\.org|pypi\.python\.org|pythonhosted|crates\.io|npmjs|rubygems\.org|@[a-z]+\.[a-z]|[0-9a-fA-F]{40}")


def documents(clone, pattern):
    """Name and text of each document of a clone's newest commit."""
    git = ["git", "-C", clone]
    for path in subprocess.check_output([*git, "ls-tree", "-r", "--name-only", "HEAD"], text=True).splitlines():
        if re.fullmatch(pattern, path):
            yield pathlib.Path(path).stem, subprocess.check_output([*git, "show", f"HEAD:{path}"], text=True)


def pep(text):
    header, _, body = text.partition("\n\n")
    title = re.search(r"^Title: (.+(?:\n +.+)*)", header, re.M)
    free = re.search(r"public\s+domain", text, re.I)
    body = re.sub(r"^\.\. [^\n]*(\n[ \t]+[^\n]*)*", "", body, flags=re.M)
    body = re.sub(r":[a-z:]+:`~?!?([^`<]+?)( <[^>]*>)?`", r"\1", body)
    body = re.sub(r"`([^`<]+?)\s*<[^>]*>`__?", r"\1", body)
    body = re.sub(r"^([^\n]+)\n[=\-~^*'\"+#.]{3,}$", r"\1\n", body, flags=re.M)
    return (title and re.sub(r"\s+", " ", title[1]), body) if free else (None, body)


def eip(text):
    _, header, body = text.split("---\n", 2)
    title = re.search(r"^title: (.+)", header, re.M)
    free = re.search(r"CC0", text)
    return (title and title[1].strip("\"'"), markdown(body)) if free else (None, body)


def rfc(text):
    # The newer ones begin with a heading of their own, all others' names are in their file's.
    title = re.search(r"^# (?!Summary)(.+)", text, re.M)
    body = re.sub(r"^- (Feature Name|Start Date|RFC PR|Rust Issue|Tracking Issue|Type|Status)\b[^\n]*\n", "", text, flags=re.M | re.I)
    return title and title[1], markdown(body)


def markdown(body):
    body = re.sub(r"<!--.*?-->", "", body, flags=re.S)
    body = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", body)
    body = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", body)
    body = re.sub(r"^\[[^\]]+\]:.*$", "", body, flags=re.M)
    return re.sub(r"^#+ *([^\n]*)$", r"\1\n", body, flags=re.M)


def beginning(body):
    kept = ""
    for paragraph in re.split(r"\n\s*\n", body):
        paragraph = "\n".join(line.rstrip() for line in paragraph.splitlines() if line.strip())
        if paragraph and len((kept + paragraph).encode()) + 2 > BYTES_MAX:
            break
        if paragraph:
            kept += paragraph + "\n\n"
    return kept.rstrip() + "\n"


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    kinds = [("peps", r"peps/pep-\d+\.rst", pep), ("eips", r"EIPS/eip-\d+\.md", eip), ("eips", r"ERCS/erc-\d+\.md", eip), ("rfcs", r"text/\d+-.*\.md", rfc)]
    for (name, pattern, read), clone in zip(kinds, sys.argv[1:]):
        folder = HERE / name
        folder.mkdir(parents=True, exist_ok=True)
        count = size = 0
        for stem, text in documents(clone, pattern):
            title, body = read(text)
            if name == "rfcs":
                title = title or stem.split("-", 1)[1].replace("-", " ")
            text = f"{title}\n\n{beginning(body)}"
            if title and len(text) >= BYTES_MIN and not STALE.search(text) and "home/" not in text:
                (folder / f"{stem}.txt").write_text(text)
                count, size = count + 1, size + len(text.encode())
        print(f"{name}: {count} documents, {size} bytes")


main()
