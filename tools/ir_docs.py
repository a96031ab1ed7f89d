#!/usr/bin/env python3
"""Writes the generated parts of docs/ir.md from the sources that define the IR.

    tools/ir_docs.py          rewrite docs/ir.md
    tools/ir_docs.py --check  exit status 1 if it is not current

A generated part is between `<!-- generated: NAME -->` and `<!-- end -->`; the prose around it is written by
hand, in docs/ir.md itself.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "ir.md"
CLASSES = {"B": "bool", "I": "integer", "F": "float", "C": "complex"}
GIVES = {
    "Same": "the operands' dtype",
    "Bool": "bool",
    "Component": "the component's dtype",
    "Complex": "the complex dtype",
    "Int32": "i32",
}


def source(path: str) -> str:
    return (ROOT / "src" / path).read_text()


def one(pattern: str, text: str) -> str:
    """The one match of a pattern's group; a source that has changed its form is an error, not an empty part."""
    found = re.findall(pattern, text, flags=re.S | re.M)
    assert len(found) == 1, f"{len(found)} matches of {pattern!r}"
    return found[0]


def escaped(text: str) -> str:
    return text.replace("*", "\\*").replace("|", "\\|")


def prose(lines: list[str]) -> str:
    """Comment lines as Markdown: lines indented by two are items, deeper ones go on with them."""
    out: list[str] = []
    for line in lines:
        depth = len(line) - len(line.lstrip())
        text = escaped(line.strip())
        if depth == 2:
            out += ([""] if out and not out[-1].startswith(("-", " ")) else []) + [f"- {text}"]
        else:
            out.append(f"  {text}" if depth > 2 else text)
    return "\n".join(out)


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def columns(card: str) -> dict[str, list[str]]:
    """The macros of a card by name, each with its arguments."""
    found = re.findall(r"([A-Z]+)\(((?:[^()]|\([^()]*\))*)\)|\b(TYPED|TERMINATOR)\b", card)
    split = {name: re.findall(r"(?:[^,()]|\([^()]*\))+", arguments) for name, arguments, _ in found if name}
    return {name: [a.strip() for a in given] for name, given in split.items()} | {
        flag: [] for _, _, flag in found if flag
    }


def groups() -> list[tuple[list[str], list[dict[str, list[str]]]]]:
    """The comments of ops.def with the cards that follow each."""
    text = one(r"#define TERMINATOR\n#endif\n(.*?)#undef OP$", source("ir/ops.def"))
    found: list[tuple[list[str], list[dict[str, list[str]]]]] = []
    fresh = True
    for line in text.splitlines():
        if line.startswith("// ---"):
            continue
        if line.startswith("//"):
            if fresh or found[-1][1]:
                found.append(([], []))
            found[-1][0].append(line[2:].removeprefix(" ") if not line.startswith("//  ") else line[2:])
            fresh = False
        elif line.startswith(("OP(", "STRUCT(")):
            found[-1][1].append(columns(line))
        elif line.strip().startswith("GRAD("):  # of the card before
            fresh = False
        elif line.strip():
            raise AssertionError(f"ops.def: a line that is neither comment nor card: {line}")
        else:
            fresh = True
    return found


def numpy_names(card: dict[str, list[str]]) -> str:
    return ", ".join(f"`{name}`" for name in (n.strip('"') for n in card.get("NUMPY", [])))


def elementwise_row(card: dict[str, list[str]]) -> list[str]:
    name, operands, accepts, gives = card["OP"]
    return [
        f"`{name}`",
        operands,
        ", ".join(CLASSES[letter] for letter in accepts),
        GIVES[gives],
        ", ".join(law.lower() for law in card.get("LAWS", [])),
        numpy_names(card),
    ]


def struct_row(card: dict[str, list[str]]) -> list[str]:
    name, stage, effects = card["STRUCT"]
    notes = []
    if "REGIONS" in card:
        notes.append(f"{card['REGIONS'][0]} region" + ("s" if card["REGIONS"][0] != "1" else ""))
    if "TYPED" in card:
        notes.append("type written")
    if "TERMINATOR" in card:
        notes.append("terminator")
    return [
        f"`{name.removesuffix('_')}`",
        stage.lower(),
        effects.lower().replace(" |", ","),
        ", ".join(f"`{a}`" for a in card.get("ATTRIBUTES", [])),
        ", ".join(notes),
        numpy_names(card),
    ]


def ops(kind: str) -> str:
    heads = {
        "OP": ["op", "operands", "takes", "gives", "laws", "NumPy"],
        "STRUCT": ["op", "stage", "effects", "attributes", "", "NumPy"],
    }
    row = elementwise_row if kind == "OP" else struct_row
    parts = []
    for comment, cards in groups():
        if rows := [row(card) for card in cards if kind in card]:
            parts += [prose(comment), table(heads[kind], rows)]
    return "\n\n".join(parts)


def dtypes() -> str:
    entries = re.findall(r'\{"(\w+)", "(\w+)", (\d+), DTypeClass::(\w+)', source("base/dtype.h"))
    assert entries
    rows = [[f"`{name}`", f"`{numpy}`", size, kind.lower()] for name, numpy, size, kind in entries]
    return table(["dtype", "NumPy", "bytes", "class"], rows)


def names() -> str:
    op_source = source("ir/op.cpp")

    def strings(array: str, text: str) -> str:
        return ", ".join(f"`{n}`" for n in re.findall(r'"(\w+)"', one(array + r"\[\w*\] = \{(.*?)\}", text)))

    exceptions = re.findall(r"X\((\w+)\)", one(r"#define INGOT_EXCEPTIONS\(X\)(.*?)\n\n", source("base/exception.h")))
    return table(
        ["names of", ""],
        [
            ["memory spaces", strings("kSpaceNames", source("ir/type.cpp"))],
            ["`schedule`", strings("kSchedules", op_source)],
            ["`scope`", strings("kScopes", op_source)],
            ["`order`", strings("kOrders", op_source)],
            ["exceptions", ", ".join(f"`{name}`" for name in exceptions)],
        ],
    )


def effects() -> str:
    entries = re.findall(r"inline constexpr Effects (\w+)\{\d+\};(?: +///< (.*))?", source("ir/op.h"))
    assert entries
    rows = [[f"`{name.lower()}`", escaped(text) or "none"] for name, text in entries]
    return table(["effect", ""], rows)


def library() -> str:
    text = source("ir/library.cpp")
    rows = []
    for name, effect, fits in re.findall(r'\{"(\w+)", effect::(\w+), (\w+), \d+, \d+\}', text):
        comment = one(r"((?:^/// [^\n]*\n)+)bool " + fits, text)
        words = " ".join(line.removeprefix("/// ") for line in comment.splitlines())
        rows.append([f"`{name}`", effect.lower(), escaped(words)])
    assert rows
    return table(["routine", "effects", ""], rows)


def invariants() -> str:
    comment = one(r"///\n(///  1\. .*?)struct Fault", source("ir/verifier.h"))
    lines = [line.removeprefix("///").strip() for line in comment.splitlines()]
    return "\n".join(line if re.match(r"\d+\. ", line) else "    " + line for line in lines)


PARTS = {
    "dtypes": dtypes,
    "names": names,
    "effects": effects,
    "elementwise": lambda: ops("OP"),
    "struct": lambda: ops("STRUCT"),
    "library": library,
    "invariants": invariants,
}


def regenerated(text: str) -> str:
    """The document with all generated parts made anew."""
    found = re.findall(r"<!-- generated: (\w+) -->", text)
    assert sorted(found) == sorted(PARTS), f"docs/ir.md has the parts {found}, should have {list(PARTS)}"

    def part(match: re.Match[str]) -> str:
        return f"{match[1]}\n{PARTS[match[2]]()}\n{match[3]}"

    return re.sub(r"(<!-- generated: (\w+) -->).*?(<!-- end -->)", part, text, flags=re.S)


def main(words: list[str]) -> int:
    text = DOCUMENT.read_text()
    current = regenerated(text)
    if words == ["--check"]:
        if current != text:
            print("docs/ir.md is not current: run tools/ir_docs.py", file=sys.stderr)
        return int(current != text)
    if words:
        print(__doc__, file=sys.stderr)
        return 2
    DOCUMENT.write_text(current)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
