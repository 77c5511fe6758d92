//! The user as whom a command runs on the client side of a hop.

#![expect(unsafe_code, reason = "the standard library and rustix do not read the user database")]

use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use libc::{c_char, gid_t, uid_t};
use thiserror::Error;

/// An entry of the user database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    uid: uid_t,
    gid: gid_t,
    /// The user's supplementary groups, and `gid`.
    groups: Vec<gid_t>,
    name: OsString,
    home: OsString,
    shell: OsString,
}

/// Why a user was not found.
#[derive(Debug, Error)]
pub enum UserError {
    /// The database has no such entry.
    #[error("no user {0:?} on this machine")]
    Unknown(String),
    /// The database cannot be read.
    #[error("cannot look up the user {0:?}: {1}")]
    Database(String, #[source] io::Error),
}

/// The environment variables in which `sudo` describes its caller. They are removed for a command
/// that runs as the caller, since it does not run under `sudo`.
const SUDO_VARIABLES: [&str; 5] = ["SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND", "SUDO_HOME"];

/// The maximum size of an entry's buffer, in octets: more than any entry needs.
const LONGEST_ENTRY: usize = 1 << 20;

impl User {
    /// The user who called `sudo` to start this process; `None` if that was root, or without
    /// `sudo`.
    pub fn who_called_sudo() -> Result<Option<Self>, UserError> {
        let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
        let Some(uid) = number("SUDO_UID").filter(|uid| *uid != 0) else { return Ok(None) };
        let shown = format!("SUDO_UID={uid}");
        // SAFETY: as `entry` requires.
        let mut user = entry(&shown, |entry, buffer, found| unsafe {
            libc::getpwuid_r(uid, entry, buffer.as_mut_ptr().cast(), buffer.len(), found)
        })?;
        // `newgrp` may have set a group other than the database's.
        user.gid = number("SUDO_GID").unwrap_or(user.gid);
        Ok(Some(user))
    }

    /// Looks up a user by name.
    pub fn named(name: &str) -> Result<Self, UserError> {
        let Ok(c_name) = CString::new(name) else { return Err(UserError::Unknown(name.to_owned())) };
        // SAFETY: as `entry` requires; the name ends in a null.
        entry(name, |entry, buffer, found| unsafe {
            libc::getpwnam_r(c_name.as_ptr(), entry, buffer.as_mut_ptr().cast(), buffer.len(), found)
        })
    }

    /// The user ID.
    pub const fn uid(&self) -> u32 {
        self.uid
    }

    /// The group ID.
    pub const fn gid(&self) -> u32 {
        self.gid
    }

    /// The name of the user.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// The user's login shell.
    pub fn shell(&self) -> &OsStr {
        &self.shell
    }

    /// Sets the user's environment variables for a command.
    pub(super) fn set_environment(&self, command: &mut Command) {
        for name in SUDO_VARIABLES {
            command.env_remove(name);
        }
        let (name, home, shell) = (&self.name, &self.home, &self.shell);
        command.envs([("USER", name), ("LOGNAME", name), ("HOME", home), ("SHELL", shell)]);
    }

    /// Changes this process to the user, irrevocably. Makes only calls that are safe between fork
    /// and exec.
    pub(super) fn become_it(&self) -> io::Result<()> {
        // SAFETY: the length is that of `groups`.
        let outcomes = unsafe {
            [
                libc::setgroups(self.groups.len(), self.groups.as_ptr()),
                libc::setresgid(self.gid, self.gid, self.gid),
                libc::setresuid(self.uid, self.uid, self.uid),
            ]
        };
        // A successful call does not overwrite the error of a failed one.
        if outcomes == [0; 3] { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Reads an entry with `call`, which writes the entry, its strings into the buffer, and a pointer
/// to the entry.
fn entry(
    shown: &str,
    call: impl Fn(*mut libc::passwd, &mut [u8], *mut *mut libc::passwd) -> libc::c_int,
) -> Result<User, UserError> {
    let mut buffer = vec![0; 4096];
    loop {
        let mut entry = MaybeUninit::<libc::passwd>::zeroed();
        let mut found = std::ptr::null_mut();
        match call(entry.as_mut_ptr(), &mut buffer, &raw mut found) {
            0 if found.is_null() => return Err(UserError::Unknown(shown.to_owned())),
            0 => {
                // SAFETY: the call has written the entry; its strings are in `buffer`, which is
                // alive.
                return Ok(unsafe { user_of(&entry.assume_init()) });
            }
            libc::ERANGE if buffer.len() < LONGEST_ENTRY => buffer.resize(buffer.len() * 2, 0),
            libc::EINTR => {}
            code => {
                return Err(UserError::Database(shown.to_owned(), io::Error::from_raw_os_error(code)));
            }
        }
    }
}

/// # Safety
///
/// The strings of the entry are null or end in a null.
unsafe fn user_of(entry: &libc::passwd) -> User {
    let text = |pointer: *const c_char| {
        if pointer.is_null() {
            return OsString::new();
        }
        // SAFETY: the caller's guarantee.
        OsStr::from_bytes(unsafe { CStr::from_ptr(pointer) }.to_bytes()).to_owned()
    };
    let shell = text(entry.pw_shell);
    User {
        uid: entry.pw_uid,
        gid: entry.pw_gid,
        groups: groups_of(entry),
        name: text(entry.pw_name),
        home: text(entry.pw_dir),
        // The default for an empty field (passwd(5)).
        shell: if shell.is_empty() { "/bin/sh".into() } else { shell },
    }
}

fn groups_of(entry: &libc::passwd) -> Vec<gid_t> {
    let mut groups: Vec<gid_t> = vec![0; 64];
    loop {
        let room = libc::c_int::try_from(groups.len()).unwrap_or(libc::c_int::MAX);
        let mut count = room;
        // SAFETY: the name ends in a null, and at most `count` groups are written.
        let outcome =
            unsafe { libc::getgrouplist(entry.pw_name, entry.pw_gid, groups.as_mut_ptr(), &raw mut count) };
        let count = usize::try_from(count).unwrap_or(0);
        if outcome >= 0 {
            groups.truncate(count);
            return groups;
        }
        // The kernel's limit is 65,536 groups.
        if groups.len() > 1 << 16 {
            return vec![entry.pw_gid];
        }
        groups.resize(count.max(groups.len() * 2), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_others_are_not() {
        let root = User::named("root").expect("every machine has one");
        assert_eq!((root.uid(), root.gid()), (0, 0));
        assert!(root.groups.contains(&0) && !root.shell.is_empty(), "{root:?}");
        assert!(matches!(User::named("no such user"), Err(UserError::Unknown(_))));
    }
}
