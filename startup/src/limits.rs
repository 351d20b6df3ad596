//! What the process's container lets it use: the memory and CPU limits of its control groups, version 1 and 2.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Version 1 says "unlimited" by the largest multiple of the page size; no machine has half of it.
const UNLIMITED: u64 = 1 << 62;

/// Limits of the process's control groups: the tightest of its own group and all groups around it that can be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of memory, page cache included; `None`: no limit.
    pub memory: Option<u64>,
    /// Processors, rounded down and at least one; `None`: no limit by a quota.
    pub cpus: Option<NonZeroUsize>,
}

impl Limits {
    /// Those of this process. What cannot be read counts as no limit.
    pub fn of_this_process() -> Self {
        Self::below(Path::new("/"))
    }

    /// Task threads that make sense: what the scheduler of the system allows, and no more than the quota.
    pub fn parallelism(&self) -> NonZeroUsize {
        let available = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.cpus.map_or(available, |cpus| cpus.min(available))
    }

    /// Those that the files below `root` tell of the process (`proc/self/cgroup`, `proc/self/mountinfo` and the hierarchies mounted there).
    fn below(root: &Path) -> Self {
        let groups = groups(root);
        Self {
            memory: groups.iter().filter_map(Group::memory).min(),
            cpus: groups.iter().filter_map(Group::cpus).min(),
        }
    }
}

/// A directory of a hierarchy.
struct Group {
    unified: bool,
    path: PathBuf,
}

impl Group {
    fn text(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.path.join(file)).ok()
    }

    fn memory(&self) -> Option<u64> {
        let bytes = |text: &str| text.trim().parse().ok().filter(|bytes| *bytes < UNLIMITED);
        if self.unified {
            // "max" is no number.
            return bytes(&self.text("memory.max")?);
        }
        // Groups around a container may be out of its sight; the kernel says here what they leave.
        let around = self.text("memory.stat").and_then(|stat| {
            stat.lines()
                .find_map(|line| bytes(line.strip_prefix("hierarchical_memory_limit ")?))
        });
        let own = self.text("memory.limit_in_bytes").and_then(|text| bytes(&text));
        own.into_iter().chain(around).min()
    }

    fn cpus(&self) -> Option<NonZeroUsize> {
        let (quota, period) = if self.unified {
            let text = self.text("cpu.max")?;
            let (quota, period) = text.trim().split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        } else {
            (self.text("cpu.cfs_quota_us")?, self.text("cpu.cfs_period_us")?)
        };
        // No limit is "max", or -1 in version 1.
        let (quota, period): (usize, usize) = (quota.trim().parse().ok()?, period.trim().parse().ok()?);
        NonZeroUsize::new(quota.checked_div(period)?.max(1))
    }
}

/// The process's own groups and those around them, up to the mount of each hierarchy.
fn groups(root: &Path) -> Vec<Group> {
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap_or_default();
    let (own, mounts) = (read("proc/self/cgroup"), read("proc/self/mountinfo"));
    let mut found = Vec::new();
    for mount in mounts.lines().filter_map(Mount::parse) {
        let Some(path) = own.lines().find_map(|line| mount.path_in(line)) else {
            continue;
        };
        // A path that does not begin with the mount's root is one of another namespace: what is mounted is all there is to see.
        let inner = Path::new(path).strip_prefix(mount.root).unwrap_or(Path::new(""));
        let top = root.join(mount.point.trim_start_matches('/'));
        found.extend(inner.ancestors().map(|part| Group {
            unified: mount.unified,
            path: top.join(part),
        }));
    }
    found
}

/// A mounted hierarchy with a controller that is asked here.
struct Mount<'a> {
    unified: bool,
    root: &'a str,
    point: &'a str,
    controllers: &'a str,
}

impl<'a> Mount<'a> {
    /// Of a line of `mountinfo`: `id parent device root point options fields... - type source controllers`.
    fn parse(line: &'a str) -> Option<Self> {
        let (mount, kind) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (mount.next()?, mount.next()?);
        let mut kind = kind.split(' ');
        let unified = match kind.next()? {
            "cgroup2" => true,
            "cgroup" => false,
            _ => return None,
        };
        Some(Self {
            unified,
            root,
            point,
            controllers: kind.nth(1).unwrap_or_default(),
        })
    }

    /// The process's path in this hierarchy, of a line of its `cgroup` file: `number:controllers:path`.
    fn path_in<'b>(&self, line: &'b str) -> Option<&'b str> {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let same = if self.unified {
            controllers.is_empty()
        } else {
            controllers
                .split(',')
                .any(|one| matches!(one, "memory" | "cpu") && self.controllers.split(',').any(|c| c == one))
        };
        same.then_some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files below a directory of their own, by path and content.
    fn limits(files: &[(&str, &str)]) -> Limits {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Limits::below(root.path())
    }

    fn of(memory: Option<u64>, cpus: Option<usize>) -> Limits {
        Limits {
            memory,
            cpus: cpus.and_then(NonZeroUsize::new),
        }
    }

    const V1: &str = "31 30 0:26 /docker/7f /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n\
                      32 30 0:27 /docker/7f /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n\
                      33 30 0:28 /docker/7f /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n\
                      34 30 0:29 / /sys/fs/cgroup/unified ro - cgroup2 cgroup2 rw\n";
    const V2: &str = "29 23 0:25 / /sys/fs/cgroup ro,nosuid shared:4 - cgroup2 cgroup rw,nsdelegate\n\
                      30 23 0:26 / /proc rw - proc proc rw\n";

    #[test]
    fn version_1_in_a_container_and_without_a_limit() {
        let own = "12:memory:/docker/7f\n4:cpu,cpuacct:/docker/7f\n3:pids:/docker/7f\n0::/docker/7f\n";
        let files = [
            ("proc/self/mountinfo", V1),
            ("proc/self/cgroup", own),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n"),
            (
                "sys/fs/cgroup/memory/memory.stat",
                "cache 5\nhierarchical_memory_limit 9223372036854771712\n",
            ),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ];
        assert_eq!(limits(&files), of(Some(512 << 20), Some(2)));
        let free = [
            files[0],
            files[1],
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            files[5],
        ];
        assert_eq!(limits(&free), Limits::default());
        // The limit of a pod around the container, which does not see the pod's group.
        let pod = [
            files[0],
            files[1],
            free[2],
            (
                "sys/fs/cgroup/memory/memory.stat",
                "hierarchical_memory_limit 1073741824\n",
            ),
        ];
        assert_eq!(limits(&pod).memory, Some(1 << 30));
    }

    #[test]
    fn version_2_takes_the_tightest_of_nested_groups() {
        let own = "0::/kubepods/pod1/c1\n";
        let files = [
            ("proc/self/mountinfo", V2),
            ("proc/self/cgroup", own),
            ("sys/fs/cgroup/kubepods/memory.max", "max\n"),
            ("sys/fs/cgroup/kubepods/pod1/memory.max", "1073741824\n"),
            ("sys/fs/cgroup/kubepods/pod1/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/kubepods/pod1/c1/memory.max", "2147483648\n"),
            ("sys/fs/cgroup/kubepods/pod1/c1/cpu.max", "max 100000\n"),
        ];
        // Half a processor is one: a task has to run somewhere.
        assert_eq!(limits(&files), of(Some(1 << 30), Some(1)));
    }

    #[test]
    fn version_2_with_a_namespace_of_its_own() {
        let own = [
            ("proc/self/mountinfo", V2),
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/memory.max", "805306368\n"),
            ("sys/fs/cgroup/cpu.max", "400000 100000\n"),
        ];
        assert_eq!(limits(&own), of(Some(768 << 20), Some(4)));
        // The host's hierarchy mounted into a container: the path leads nowhere, the top is asked.
        let foreign = [own[0], ("proc/self/cgroup", "0::/../../x\n"), own[2]];
        assert_eq!(limits(&foreign).memory, Some(768 << 20));
    }

    #[test]
    fn nothing_to_read_is_no_limit() {
        assert_eq!(limits(&[("proc/self/cgroup", "0::/\n")]), Limits::default());
        let broken = [
            ("proc/self/mountinfo", "x - cgroup2\n- -\n"),
            ("proc/self/cgroup", ":\n\n"),
        ];
        assert_eq!(limits(&broken), Limits::default());
        assert!(Limits::default().parallelism().get() >= 1);
    }
}
