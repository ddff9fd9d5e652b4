//! How much memory is left: to the system, and to the control groups that this process is in.
//!
//! The kernel grants more than there is (overcommit), and ends the process without a word when that is touched; so what
//! touches much at once asks here first. Control groups of both versions are known at their usual places (cgroups(7)).
//! Beware: it is the answer of a moment, and others take memory, too.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use storscope_types::Bytes;

/// What is left, and to whom: the scarcest of all that bound this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryLeft {
    /// Without swapping; what files have cached is given up for it.
    pub bytes: Bytes,
    /// `the system`, or the control group by its path.
    pub whose: String,
}

/// Where a version of control groups says what a group may use.
struct Words {
    mount: &'static str,
    limit: &'static str,
    usage: &'static str,
    /// Lines of memory.stat, of the group and those below it: the page cache, which gives way.
    reclaimable: [&'static str; 2],
}

/// Documentation/admin-guide/cgroup-v1/memory.rst.
const FIRST: Words = Words {
    mount: "sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    reclaimable: ["total_inactive_file", "total_active_file"],
};
/// Documentation/admin-guide/cgroup-v2.rst.
const SECOND: Words = Words {
    mount: "sys/fs/cgroup",
    limit: "memory.max",
    usage: "memory.current",
    reclaimable: ["inactive_file", "active_file"],
};

impl MemoryLeft {
    /// Of this process now; none where the system does not tell.
    #[must_use]
    pub fn now() -> Option<Self> {
        Self::under(Path::new("/"))
    }

    /// As the files under `root` say.
    fn under(root: &Path) -> Option<Self> {
        let groups = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
        let of_groups = group_of(&groups).map(|(words, path)| of_ancestors(root, &words, path)).unwrap_or_default();
        of_system(root).into_iter().chain(of_groups).min_by_key(|left| left.bytes)
    }
}

/// `MemAvailable` in proc(5).
fn of_system(root: &Path) -> Option<MemoryLeft> {
    let text = read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(MemoryLeft { bytes: Bytes(kib << 10), whose: "the system".to_owned() })
}

/// The group that counts the memory: of version 1 if its controller is there, else of version 2.
fn group_of(groups: &str) -> Option<(Words, &str)> {
    let mut lines = groups.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        rest.split_once(':')
    });
    let first = lines.clone().find(|(controllers, _)| controllers.split(',').any(|one| one == "memory"));
    match first {
        Some((_, path)) => Some((FIRST, path)),
        None => lines.find(|(controllers, _)| controllers.is_empty()).map(|(_, path)| (SECOND, path)),
    }
}

/// Of the group and all above it. In a container its own group may be mounted at the top: then those below are not there.
fn of_ancestors(root: &Path, words: &Words, path: &str) -> Vec<MemoryLeft> {
    let paths = Path::new(path).ancestors().map(|path| path.strip_prefix("/").unwrap_or(path));
    paths.filter_map(|path| of_one(&root.join(words.mount).join(path), words, path)).collect()
}

/// None without a limit.
fn of_one(folder: &Path, words: &Words, path: &Path) -> Option<MemoryLeft> {
    let number = |name: &str| read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    let (limit, usage) = (number(words.limit)?, number(words.usage)?);
    let cached = cached_bytes(&folder.join("memory.stat"), words);
    let whose = format!("the control group {}", PathBuf::from("/").join(path).display());
    Some(MemoryLeft { bytes: Bytes(limit.saturating_sub(usage.saturating_sub(cached))), whose })
}

fn cached_bytes(stat: &Path, words: &Words) -> u64 {
    let text = read_to_string(stat).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.filter(|(name, _)| words.reclaimable.contains(name)).filter_map(|(_, bytes)| bytes.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A tree as the kernel shows it, of a system with 1 GiB available.
    fn left(group: &str, files: &[(&str, &str)]) -> (u64, String) {
        let root = tempfile::tempdir().unwrap();
        let common =
            [("proc/meminfo", "MemTotal: 4194304 kB\nMemAvailable:   1048576 kB\n"), ("proc/self/cgroup", group)];
        for (path, text) in common.iter().chain(files) {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = MemoryLeft::under(root.path()).unwrap();
        (found.bytes.0 / MIB, found.whose)
    }

    #[test]
    fn without_a_limit_it_is_what_the_system_has() {
        let found = left("0::/user.slice\n", &[("sys/fs/cgroup/user.slice/memory.max", "max\n")]);
        assert_eq!(found, (1024, "the system".to_owned()));
        assert_eq!(left("", &[]), found);
    }

    #[test]
    fn a_groups_limit_counts_without_what_is_in_use_but_with_the_cache_of_files() {
        let second = [
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/b/memory.current", "1048576\n"),
            ("sys/fs/cgroup/a/memory.max", "419430400\n"),
            ("sys/fs/cgroup/a/memory.current", "209715200\n"),
            ("sys/fs/cgroup/a/memory.stat", "anon 1\nfile 2\ninactive_file 52428800\nactive_file 52428800\n"),
        ];
        assert_eq!(left("0::/a/b\n", &second), (300, "the control group /a".to_owned()));
        let first = [
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "419430400\n"),
            ("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "104857600\n"),
            ("sys/fs/cgroup/memory/a/memory.stat", "inactive_file 7\ntotal_inactive_file 52428800\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "104857600\n"),
        ];
        let found = left("9:name=systemd:/\n4:cpu,memory:/a\n0::/\n", &first);
        assert_eq!(found, (350, "the control group /a".to_owned()));
    }

    #[test]
    fn in_a_container_the_group_at_the_top_counts() {
        let files = [
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "209715200\n"),
        ];
        assert_eq!(left("4:memory:/docker/0123\n", &files), (0, "the control group /".to_owned()));
    }
}
