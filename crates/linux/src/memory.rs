//! How much memory there is, and how much of it this process takes, by the kernel's files; and the
//! limit of what it takes.
//!
//! The limit is the process's, because runs in parallel share its memory.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// In octets.
static LIMIT: OnceLock<u64> = OnceLock::new();

/// Sets the memory limit of this process in octets, in place of half the machine's memory. The first
/// call counts, and only before the first look at the limit.
pub fn set_limit(octets: u64) {
    // A second limit would come too late for runs that have begun.
    let _ = LIMIT.set(octets);
}

/// The memory limit in octets, if the process takes more than that. `None` also where the system does
/// not say how much it takes.
pub fn exceeded() -> Option<u64> {
    let half_the_machine = || available(Path::new("/")).map_or(u64::MAX, |octets| octets / 2);
    let limit = *LIMIT.get_or_init(half_the_machine);
    resident().filter(|octets| *octets > limit).map(|_| limit)
}

/// What this process may take: the memory of the machine, or of the control groups that it is in if
/// that is less; in octets. `root` is where the file system begins.
fn available(root: &Path) -> Option<u64> {
    let info = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let total = kibibytes(&info, "MemTotal:")?;
    Some(control_groups(root).into_iter().fold(total, u64::min))
}

/// Octets of this process that are in memory.
fn resident() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// The octets in the line of a file that begins like this.
fn kibibytes(file: &str, begin: &str) -> Option<u64> {
    let amount = file.lines().find_map(|line| line.strip_prefix(begin))?;
    let kibibytes: u64 = amount.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// The limits of the control groups that this process is in, of version 1 and 2. A group has no more
/// than those above it.
fn control_groups(root: &Path) -> Vec<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    groups.lines().flat_map(|line| limits(root, line)).collect()
}

/// The limits along the path in a line such as `0::/user.slice` (version 2) or `4:memory:/docker/1f2e`
/// (version 1).
fn limits(root: &Path, line: &str) -> Vec<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let (mount, file) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        _ if controllers.split(',').any(|name| name == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return Vec::new(),
    };
    let above = Path::new(path.trim_start_matches('/')).ancestors();
    let limit = |group: &Path| -> Option<u64> {
        fs::read_to_string(root.join(mount).join(group).join(file)).ok()?.trim().parse().ok()
    };
    above.filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A file system with a machine of 8 MiB and these files.
    fn machine(files: &[(&str, &str)]) -> TempDir {
        let root = TempDir::new().expect("a directory");
        for (name, text) in [("proc/meminfo", "MemFree: 1 kB\nMemTotal:       8192 kB\n")].iter().chain(files)
        {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("writable");
            fs::write(path, text).expect("writable");
        }
        root
    }

    fn available_with(files: &[(&str, &str)]) -> Option<u64> {
        available(machine(files).path())
    }

    #[test]
    fn a_test_takes_less_than_half_the_machine() {
        assert_eq!(exceeded(), None);
    }

    #[test]
    fn the_process_takes_some_memory_and_less_than_the_machine_has() {
        let taken = resident().expect("this is Linux");
        let there = available(Path::new("/")).expect("this is Linux");
        assert!(taken > 100_000 && taken < there, "{taken} of {there}");
    }

    #[test]
    fn without_a_limit_the_machine_is_what_there_is() {
        assert_eq!(available_with(&[]), Some(8 << 20));
        let unlimited = [("proc/self/cgroup", "0::/a\n"), ("sys/fs/cgroup/a/memory.max", "max\n")];
        assert_eq!(available_with(&unlimited), Some(8 << 20));
        assert_eq!(available(Path::new("/nowhere")), None);
    }

    #[test]
    fn the_smallest_limit_from_the_group_up_counts() {
        let in_group = ("proc/self/cgroup", "0::/a/b/c\n");
        let own = ("sys/fs/cgroup/a/b/c/memory.max", "3000\n");
        let above = ("sys/fs/cgroup/a/memory.max", "2000\n");
        let at_the_root = ("sys/fs/cgroup/memory.max", "1000\n");
        let beside = ("sys/fs/cgroup/a/d/memory.max", "10\n");
        assert_eq!(available_with(&[in_group, own, beside]), Some(3000));
        assert_eq!(available_with(&[in_group, own, above, beside]), Some(2000));
        // What a container sees of itself.
        assert_eq!(available_with(&[in_group, at_the_root]), Some(1000));
    }

    #[test]
    fn version_1_counts_where_memory_has_its_controller() {
        let groups = "5:cpu,cpuacct:/c\n4:name=systemd,memory:/docker/1f\n0::/\n";
        let unlimited = ("sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes", "9223372036854771712\n");
        let above = ("sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "4000\n");
        let of_another = ("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "10\n");
        let in_groups = ("proc/self/cgroup", groups);
        assert_eq!(available_with(&[in_groups, unlimited, of_another]), Some(8 << 20));
        assert_eq!(available_with(&[in_groups, unlimited, above, of_another]), Some(4000));
    }
}
