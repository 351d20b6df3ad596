"""What a failed query tells beside its error class: the exceptions' classes, SQLSTATE, the parameters of the message, and where in the text it was."""
import json
from pathlib import Path

# Part of a cached answer; one with another number, or without, is made again.
VERSION = 1


def carrier(error: Exception):
    """The JVM's exception that has the error class: the first such one in the chain of causes. None without a JVM."""
    from py4j.java_gateway import is_instance_of
    from pyspark import SparkContext

    found = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    while found is not None:
        if is_instance_of(SparkContext._gateway, found, "org.apache.spark.SparkThrowable") and found.getCondition():
            return found
        found = found.getCause()
    return None


def _context(context) -> dict:
    """One place in a query. What a context does not have is an exception of its own in the JVM."""
    names = ["fragment", "summary"]
    if context.contextType().toString() == "SQL":
        names += ["objectType", "objectName", "startIndex", "stopIndex"]
    else:
        # The line of the program: it differs between the two runs.
        names.remove("summary")
    return {"contextType": context.contextType().toString()} | {name: getattr(context, name)() for name in names}


def details(error: Exception) -> dict:
    """Everything of an error that is compared."""
    told = {"version": VERSION, "type": type(error).__name__}
    found = carrier(error)
    if found is None:
        return told
    return told | {
        "exception": found.getClass().getName(),
        "state": found.getSqlState(),
        "parameters": dict(found.getMessageParameters()),
        "contexts": [_context(c) for c in found.getQueryContext()],
    }


def kept(file: Path) -> bool:
    """Whether plain Spark's answer is cached, with all that is compared now."""
    if not file.exists():
        return False
    answer = json.loads(file.read_text())
    return not answer.get("error") or answer.get("details", {}).get("version") == VERSION


def _placed(told):
    """What is told of an error; a context that names no place in any text is none."""
    if not isinstance(told, list):
        return told
    return [context for context in told if context.get("startIndex") != -1 or context.get("fragment")]


def difference(want: dict, got: dict) -> str | None:
    """The first difference of two errors in words."""
    for name in want | got:
        a, b = (_placed(one.get(name)) for one in (want, got))
        if a != b:
            return f"error's {name}: want {a}, got {b}"
    return None
