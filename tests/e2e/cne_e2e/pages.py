"""Sections of pages that several recipes write."""
from pathlib import Path


def section(text: str, title: str) -> str:
    """The section with this title (`## ...`), up to the next one of its level; empty when there is none."""
    lines = text.splitlines(keepends=True)
    start = next((i for i, line in enumerate(lines) if line.rstrip() == title), None)
    if start is None:
        return ""
    end = next((i for i in range(start + 1, len(lines)) if lines[i].startswith("## ")), len(lines))
    return "".join(lines[start:end]).rstrip() + "\n"


def with_section(text: str, title: str, new: str) -> str:
    """The page with its section replaced, or put at the end; an empty one changes nothing."""
    if not new:
        return text
    old = section(text, title)
    if not old:
        return text.rstrip() + "\n\n" + new.rstrip() + "\n"
    return text.replace(old, new.rstrip() + "\n", 1)


def write_section(file: Path, title: str, new: str) -> None:
    """Writes a section into a page and leaves the rest."""
    file.write_text(with_section(file.read_text() if file.exists() else "", title, new))
