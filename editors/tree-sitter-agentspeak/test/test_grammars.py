#!/usr/bin/env python3
"""Tests of the tree-sitter grammars: all programs of the repository, the corpus of trees, the queries.

With `WHIMBREL`, the path of a built program, its parser is compared with the grammar. With `WHIMBREL_CORPUS`, further
folders are read, separated by colons.
"""

import ctypes
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import tomllib
import unittest
from collections.abc import Iterator
from pathlib import Path

from tree_sitter import Language, Parser, Query, QueryCursor, Tree

HOME = Path(__file__).resolve().parent.parent
ROOT = HOME.parent.parent
ENDINGS = {"agentspeak": ".asl", "mas2j": ".mas2j"}
SKIPPED = {"target", "node_modules", "dist"}
# Signs that a mutated program gets more often than others.
SIGNS = (
    "+ - -+ ++ +< ! !! ? ( ) { } [ ] | & not ~ :: . ; , @ ^ ** div |&| ||| < <= <: <- : :- = "
    "if else elif for while begin end true X _ a .5"
)


def load(name: str, folder: Path) -> Language:
    """Compiles a parser as editors do, and loads it."""
    sources = HOME / name / "src"
    library = folder / f"{name}.so"
    compiler = [os.environ.get("CC", "cc"), "-shared", "-fPIC"]
    files = sorted(sources.glob("*.c"))
    subprocess.run([*compiler, "-I", sources, "-o", library, *files], check=True)
    function = getattr(ctypes.CDLL(library), f"tree_sitter_{name}")
    function.restype = ctypes.c_void_p
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype = ctypes.py_object
    capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return Language(capsule(function(), b"tree_sitter.Language", None))


def programs(ending: str) -> Iterator[Path]:
    """Returns all files with this ending below the root, and in the folders of `WHIMBREL_CORPUS`."""
    further = os.environ.get("WHIMBREL_CORPUS", "")
    for root in [ROOT, *map(Path, filter(None, further.split(":")))]:
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.startswith("."))
            yield from (Path(folder, name) for name in sorted(files) if name.endswith(ending))


def text_of(file: Path) -> str:
    """Returns a file's text; one that is not UTF-8 is Windows-1252, as for the engine."""
    content = file.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("windows-1252", "replace")


def corpus(file: Path) -> Iterator[tuple[str, set[str], str, str]]:
    """Returns name, attributes, source and expected tree of each test in a file."""
    parts = re.split(r"^={10,}\n((?:[^=\n].*\n)+)={10,}\n", file.read_text(), flags=re.MULTILINE)
    for head, body in zip(parts[1::2], parts[2::2], strict=True):
        name, *attributes = head.splitlines()
        source, expected = re.split(r"^-{10,}\n", body, flags=re.MULTILINE)
        yield name, set(attributes), source.strip("\n") + "\n", " ".join(expected.split())


def faultless(name: str) -> Iterator[str]:
    """Returns the sources without errors in the corpus of this language."""
    for file in sorted(HOME.glob("test/corpus/*.txt")):
        for _, attributes, source, _ in corpus(file):
            if ":error" not in attributes and (":language(mas2j)" in attributes) == (name == "mas2j"):
                yield source


class ParsersTest(unittest.TestCase):
    """The compiled parsers."""

    languages: dict[str, Language]

    @classmethod
    def setUpClass(cls) -> None:
        folder = Path(tempfile.mkdtemp(prefix="whimbrel-tree-sitter-"))
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.languages = {name: load(name, folder) for name in ENDINGS}

    def parse(self, name: str, text: str) -> Tree:
        return Parser(self.languages[name]).parse(text.encode())


class GrammarsTest(ParsersTest):
    def test_programs_of_the_repository_parse(self) -> None:
        counts = {}
        for name, ending in ENDINGS.items():
            files = list(programs(ending))
            counts[name] = len(files)
            faulty = [str(file) for file in files if self.parse(name, text_of(file)).root_node.has_error]
            self.assertEqual(faulty, [], f"of {len(files)} files")
        self.assertGreater(counts["agentspeak"], 500)
        self.assertGreater(counts["mas2j"], 80)

    def test_corpus_trees_match(self) -> None:
        for file in sorted(HOME.glob("test/corpus/*.txt")):
            for title, attributes, source, expected in corpus(file):
                name = "mas2j" if ":language(mas2j)" in attributes else "agentspeak"
                root = self.parse(name, source).root_node
                with self.subTest(file=file.name, title=title):
                    self.assertEqual(root.has_error, ":error" in attributes, source)
                    if expected:
                        self.assertEqual(re.sub(r"\w+: ", "", str(root)), expected.replace(" )", ")"))

    def test_queries_match_something(self) -> None:
        for name in ENDINGS:
            root = self.parse(name, "\n".join(faultless(name))).root_node
            for file in sorted((HOME / name / "queries").glob("*.scm")):
                with self.subTest(file=f"{name}/{file.name}"):
                    query = Query(self.languages[name], file.read_text())
                    matched = {pattern for pattern, _ in QueryCursor(query).matches(root)}
                    self.assertEqual(matched, set(range(query.pattern_count)), "patterns that match")

    def test_names_have_their_colours(self) -> None:
        text = '@l[atomic] +!go(X) : not done & n::f(self) <- math.abs(X); move(north); !!next; +p("a"). // end'
        expected = {
            "@": "label",
            "l": "label",
            "atomic": "attribute",
            "go": "function",
            "X": "variable",
            "not": "keyword.operator",
            "done": "property",
            "n": "module",
            "self": "variable.builtin",
            "<-": "operator",
            "math.abs": "function.builtin",
            "move": "function.call",
            "north": "constant",
            "next": "function.call",
            "p": "property",
            '"a"': "string",
            "// end": "comment",
        }
        query = Query(self.languages["agentspeak"], (HOME / "agentspeak/queries/highlights.scm").read_text())
        colours: dict[str, tuple[int, str]] = {}
        for pattern, captures in QueryCursor(query).matches(self.parse("agentspeak", text).root_node):
            for colour, nodes in captures.items():
                for node in nodes:
                    said = node.text.decode()
                    colours[said] = max(colours.get(said, (0, "")), (pattern, colour))
        self.assertEqual({said: colours[said][1] for said in expected}, expected)

    def test_readme_can_be_typed(self) -> None:
        readme = (HOME / "README.md").read_text()
        blocks = re.findall(r"^```(\w+)\n(.*?)^```$", readme, flags=re.MULTILINE | re.DOTALL)
        home = Path(tempfile.mkdtemp(prefix="whimbrel-tree-sitter-"))
        self.addCleanup(shutil.rmtree, home)
        environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
        for language, block in blocks:
            if language == "sh" and "make" not in block.split():
                subprocess.run(["sh", "-euc", block], check=True, cwd=HOME, env=environment)
            elif language == "toml":
                # Helix finds a grammar by the name of its language.
                languages = {language["name"]: language["file-types"] for language in tomllib.loads(block)["language"]}
                self.assertEqual(languages, {name: [ending.lstrip(".")] for name, ending in ENDINGS.items()})
            elif language == "elisp":
                query = re.search(r":feature 'all\s+'\((.*?)\)\)\)\n", block, flags=re.DOTALL)
                self.assertGreater(Query(self.languages["agentspeak"], query[1]).pattern_count, 10)
        made = [str(path.relative_to(home)) for path in home.rglob("*agentspeak*")]
        expected = [
            ".config/helix/runtime/grammars/agentspeak.so",
            ".config/helix/runtime/queries/agentspeak",
            ".emacs.d/tree-sitter/libtree-sitter-agentspeak.so",
            ".local/share/nvim/site/parser/agentspeak.so",
            ".local/share/nvim/site/queries/agentspeak",
        ]
        self.assertEqual(sorted(made), expected)

    def test_parsers_are_those_of_the_grammars(self) -> None:
        for name in ENDINGS:
            for line in (HOME / name / "src/SHA256SUMS").read_text().splitlines():
                digest, path = line.split("  ")
                content = (HOME / name / path).read_bytes()
                actual = hashlib.sha256(content).hexdigest()
                self.assertEqual(actual, digest, f"{name}/{path} has changed: run `make tree-sitter`")


@unittest.skipUnless(os.environ.get("WHIMBREL"), "WHIMBREL names no program to compare with")
class EngineTest(ParsersTest):
    """Comparisons with the parser of the engine. What it accepts has no error here."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="whimbrel-tree-sitter-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def refused(self, texts: list[str]) -> set[int]:
        """Returns the numbers of those programs in which the engine finds an error."""
        files = [self.folder / f"{number}.asl" for number in range(len(texts))]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text)
        command = [os.environ["WHIMBREL"], "check", "--json", *files]
        said = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
        return {int(Path(it["file"]).stem) for it in said["diagnostics"] if it["severity"] == "error"}

    def test_faulty_programs_are_faulty(self) -> None:
        tests = [(title, source) for title, _, source, _ in corpus(HOME / "test/corpus/errors.txt")]
        refused = self.refused([source for _, source in tests])
        self.assertEqual([title for number, (title, _) in enumerate(tests) if number not in refused], [])

    def test_mutated_programs_agree(self) -> None:
        chance = random.Random(29)
        texts = [mutated(text, chance) for text in self.small_programs(chance, 400)]
        refused = self.refused(texts)
        faulty = {number for number, text in enumerate(texts) if self.parse("agentspeak", text).root_node.has_error}
        self.assertEqual([texts[number] for number in sorted(faulty - refused)], [], "the engine accepts these")
        # The engine also refuses what is no question of syntax, such as a file that is not there.
        self.assertGreater(len(faulty), 100)
        self.assertLess(len(refused - faulty), 0.05 * len(texts))

    def small_programs(self, chance: random.Random, count: int) -> list[str]:
        found = [text for text in map(text_of, programs(".asl")) if 20 < len(text) < 3000 and "include" not in text]
        return chance.choices(found, k=count)


def mutated(text: str, chance: random.Random) -> str:
    """Returns a program in which one token is left out, replaced or followed by another one."""
    token = r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|\.?\w+(?:\.\w+)*|\|&\||\|\|\||=\.\.|\\==|<[-:=]|::|!!|\s+|.'
    tokens = re.findall(token, text, flags=re.DOTALL)
    place = chance.choice([number for number, token in enumerate(tokens) if not token.isspace()])
    new = chance.choice([*SIGNS.split(), *filter(str.strip, tokens)])
    tokens[place] = chance.choice(["", new, f"{tokens[place]} {new}"])
    return "".join(tokens)


if __name__ == "__main__":
    unittest.main()
