//! The folder of the files that are the memory of guests. They are filled page by page, and a page for which there is no room
//! is a bus error, of the guest and here. So there has to be room for all of them before the first guest starts.

use std::env;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, StatVfs, StatVfsMountFlags, access, statvfs};

/// Where a kernel in user mode makes the file, if it is not told: in memory.
const IN_MEMORY: &str = "/dev/shm";
/// Other folders in which all may write.
const ON_DISK: [&str; 2] = ["/tmp", "/var/tmp"];

/// The first of the user's folder for temporary files, the one in memory, and those on disk that has room for this many
/// octets and from which programs may be run. An error says what is wrong with each.
pub(crate) fn choose(octets: u64) -> Result<PathBuf, String> {
    let given = env::var_os("TMPDIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let usual = [IN_MEMORY].into_iter().chain(ON_DISK).map(PathBuf::from);
    first_of(given.into_iter().chain(usual), octets)
}

fn first_of(folders: impl Iterator<Item = PathBuf>, octets: u64) -> Result<PathBuf, String> {
    let mut problems = Vec::new();
    for folder in folders {
        // The kernel has a directory of its own.
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        match problem(&folder, octets) {
            None => return Ok(folder),
            Some(problem) => problems.push(format!("{} {problem}", folder.display())),
        }
    }
    let wanted = octets.div_ceil(1 << 20);
    Err(format!("no folder for {wanted} MiB of memory: {}; expected one in TMPDIR", problems.join(", ")))
}

fn problem(folder: &Path, octets: u64) -> Option<String> {
    let usable = access(folder, Access::WRITE_OK | Access::EXEC_OK).and_then(|()| statvfs(folder));
    let StatVfs { f_flag, f_bavail, f_frsize, .. } = match usable {
        Ok(found) => found,
        Err(error) => return Some(format!("cannot be used ({error})")),
    };
    lack(f_flag.contains(StatVfsMountFlags::NOEXEC), f_bavail.saturating_mul(f_frsize), octets)
}

/// What a file system lacks.
fn lack(is_noexec: bool, room: u64, octets: u64) -> Option<String> {
    if is_noexec {
        // The kernel runs from its memory.
        return Some("is mounted noexec".to_owned());
    }
    (room < octets).then(|| format!("has room for {} MiB", room >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_where_there_is_room_and_programs_may_run() {
        let all = || ["/no/such/folder", "/"].into_iter().map(PathBuf::from);
        assert_eq!(first_of(all(), 0).as_deref(), Ok(Path::new("/")));
        let problem = first_of(all(), u64::MAX).expect_err("no file system is as large");
        assert!(problem.contains("/no/such/folder cannot be used (No such file or directory"), "{problem}");
        assert!(problem.contains("/ has room for "), "{problem}");
        // As containers have it.
        assert_eq!(lack(true, u64::MAX, 1).as_deref(), Some("is mounted noexec"));
        assert_eq!(lack(false, 64 << 20, 256 << 20).as_deref(), Some("has room for 64 MiB"));
        assert_eq!(lack(false, 256 << 20, 256 << 20), None);
    }
}
