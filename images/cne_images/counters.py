"""What the kernel counts of a container's memory, with control groups of version 1 and 2."""
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


@dataclass
class Memory:
    """Counters of one container since its start."""

    # Bytes.
    limit: int
    # The most that was in use, page cache included; None where the kernel does not count it.
    peak: int | None
    # How often the limit was reached: the page cache was let go then, or processes were killed.
    reached: int
    # Processes that were killed for it.
    killed: int
    # Bytes: the most that the process itself had in memory, without page cache.
    process: int


def _group(pid: int) -> tuple[Path, bool]:
    """The group's directory, and whether it is one of version 2."""
    unified = None
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return ROOT / "memory" / path.lstrip("/"), False
        if not controllers:
            unified = ROOT / path.lstrip("/")
    if unified is None or not (unified / "memory.max").exists():
        raise RuntimeError(f"no group that counts the memory of process {pid}")
    return unified, True


def memory(pid: int) -> Memory:
    """The counters of a running container, by the host's id of its process."""
    group, unified = _group(pid)
    text = lambda name: (group / name).read_text()  # noqa: E731
    field = lambda name, key: int(re.search(rf"^{key} (\d+)", text(name), re.M)[1])  # noqa: E731
    own = int(re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M)[1]) << 10
    if unified:
        peak = int(text("memory.peak")) if (group / "memory.peak").exists() else None
        return Memory(int(text("memory.max")), peak, field("memory.events", "max"), field("memory.events", "oom_kill"), own)
    return Memory(int(text("memory.limit_in_bytes")), int(text("memory.max_usage_in_bytes")), int(text("memory.failcnt")),
                  field("memory.oom_control", "oom_kill"), own)
