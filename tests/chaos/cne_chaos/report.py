"""What the runs amount to."""
from collections import Counter

from .kinds import Run


def outcome(r: Run) -> str:
    """In which of the last line's numbers a run counts."""
    return r.outcome if r.outcome in ("right", "hung", "failed-typed") else "wrong"


def table(runs: list[Run]) -> str:
    """A row for every kind of fault."""
    lines = [f"{'fault':<18} {'runs':>5} {'fired':>6} {'right':>6} {'wrong':>6} {'hung':>5} {'failed-typed':>13} {'reruns':>7}"]
    for kind in dict.fromkeys(sorted(r.kind for r in runs)):
        of = [r for r in runs if r.kind == kind]
        c = Counter(map(outcome, of))
        lines.append(f"{kind:<18} {len(of):>5} {sum(r.fired for r in of):>6} {c['right']:>6} {c['wrong']:>6} {c['hung']:>5} "
                     f"{c['failed-typed']:>13} {sum(r.reruns for r in of):>7}")
    return "\n".join(lines)


def summary(runs: list[Run], wanted: int) -> tuple[str, int]:
    """The last line, and the exit code: 0 for no wrong answer, no hang, no rerun, 95 of 100 right, 90 of 100 fired."""
    c, fired, reruns = Counter(map(outcome, runs)), sum(r.fired for r in runs), sum(r.reruns for r in runs)
    line = (f"runs {len(runs)}, right {c['right']}, fired {fired}, wrong {c['wrong']}, hung {c['hung']}, failed-typed {c['failed-typed']}, "
            f"tasks rerun after commit {reruns}")
    good = (len(runs) == wanted and c["wrong"] == c["hung"] == reruns == 0 and c["right"] >= 0.95 * wanted
            and fired >= 0.9 * wanted)
    return line, 0 if good else 1
