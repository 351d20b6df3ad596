"""What was committed and what was run: commits as the proxy saw them answered, starts of tasks as the executors' logs have them."""
import datetime
import json
import re
from dataclasses import dataclass
from pathlib import Path

_QUERY = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TEXT = re.compile(r"^(\S+)\s+[A-Z]+ .*?: task (started|done|failed)\b(.*)$")
_FIELD = re.compile(r'(\w+)="?([^"\s]*)"?')


@dataclass(frozen=True)
class Start:
    """An attempt of a task began to run. `output` names what it makes: query, stage, partition."""

    output: tuple[str, str, str]
    time: float


def output_of(path: str) -> tuple[str, str, str] | None:
    """What a key belongs to: .../namespace/stage/partition/object, of which the namespace begins with the query's id."""
    parts = path.split("/")
    if len(parts) < 5 or not parts[-2].isdigit():
        return None
    query = _QUERY.match(parts[-4])
    return (query[0] if query else parts[-4], parts[-3], parts[-2])


def commits(requests) -> dict[tuple, float]:
    """When the commit record of each output was in the store: the first success, as the server answered it."""
    found: dict[tuple, float] = {}
    for r in requests:
        output = output_of(r.path)
        if r.kind == "PUT commit" and 200 <= r.status < 300 and output:
            found[output] = min(found.get(output, r.answered), r.answered)
    return found


def events(lines) -> list[tuple[str, dict]]:
    """The log's lines about tasks: what happened, and the fields, `time` in seconds among them."""
    found = []
    for line in lines:
        if "task " not in line:
            continue
        if line.startswith("{"):
            try:
                one = json.loads(line)
            except ValueError:
                continue
            fields = one | one.get("fields", {})
            what, when = fields.get("message", ""), one.get("timestamp", "")
            fields = {k: str(v) for k, v in fields.items()}
        else:
            match = _TEXT.match(line)
            if not match:
                continue
            when, what = match[1], f"task {match[2]}"
            fields = dict(_FIELD.findall(match[3]))
        if what in ("task started", "task done", "task failed") and "stage" in fields:
            found.append((what, fields | {"time": datetime.datetime.fromisoformat(when.replace("Z", "+00:00")).timestamp()}))
    return found


def starts(lines) -> list[Start]:
    """Starts of attempts. Of a log without lines for them, what the ends say: they have how long the attempt ran."""
    found = events(lines)
    began = [(f, f["time"]) for what, f in found if what == "task started"]
    if not began:
        began = [(f, f["time"] - float(f.get("ms", 0)) / 1000) for _, f in found]
    return [Start((f.get("query", ""), f["stage"], f["partition"]), time) for f, time in began]


class Log:
    """An executor's log file, read on."""

    def __init__(self, file: Path):
        self.file, self.at = file, 0

    def lines(self) -> list[str]:
        """Whole lines since the last call."""
        if not self.file.exists():
            return []
        with open(self.file, "rb") as f:
            f.seek(self.at)
            data = f.read()
        whole = data.rfind(b"\n") + 1
        self.at += whole
        return data[:whole].decode(errors="replace").splitlines()


def reruns(committed: dict[tuple, float], started: list[Start]) -> list[Start]:
    """Attempts that began to run after the commit record of their output was in the store."""
    return [s for s in started if s.output in committed and s.time > committed[s.output]]


def under_other_names(committed: dict[tuple, float], started: list[Start], undisturbed: set[tuple]) -> int:
    """Outputs that were made again under another name: those committed beyond the ones of an undisturbed run, where there are more names than
    in it. What is still being committed of an earlier query is not among them."""
    names = {s.output[0] for s in started}
    mine = [output for output in committed if output[0] in names]
    return max(0, len(mine) - len(undisturbed)) if len(names) > len({output[0] for output in undisturbed}) else 0
