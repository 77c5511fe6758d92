//! What a source can be: a folder or an archive.

use std::path::Path;

/// The form of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// A folder.
    Folder,
    /// An archive that tar reads, with the program that unpacks it for tar.
    Archive(Option<&'static str>),
}

/// Endings of archives, and the programs that tar runs for them.
const ARCHIVES: [(&str, Option<&str>); 6] = [
    (".tar.xz", Some("xz")),
    (".tar.gz", Some("gzip")),
    (".tar.bz2", Some("bzip2")),
    (".tar.zst", Some("zstd")),
    (".tgz", Some("gzip")),
    (".tar", None),
];

/// The name of an archive without its ending, and its form.
pub(super) fn archive(name: &str) -> Option<(&str, Form)> {
    ARCHIVES
        .iter()
        .find_map(|(ending, unpacker)| Some((name.strip_suffix(ending)?, Form::Archive(*unpacker))))
}

/// Whether a folder has the source of a kernel that can be built for user mode, not only its headers.
pub(super) fn is_kernel(folder: &Path) -> bool {
    ["Makefile", "Kconfig", "arch/um/Makefile", "kernel/fork.c"]
        .iter()
        .all(|file| folder.join(file).is_file())
}
