//! What I/Os go to: files, block devices, and nothing.
//!
//! This module opens what it is told to. Whether a target may be written at all is for the caller to find out; block
//! devices are opened exclusively for writing all the same, which the kernel refuses for anything mounted or claimed
//! (open(2), `O_EXCL`).

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use storscope_types::Bytes;

use crate::error::LoadError;

/// A target as a plan names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TargetSpec {
    /// A file or block device, opened by its path.
    Path {
        /// The path.
        path: PathBuf,
        /// Past the page cache.
        #[serde(default = "yes")]
        direct: bool,
    },
    /// A file or block device that the caller has open, with the flags it chose. It stays the caller's, but its access
    /// time is no longer kept.
    Fd {
        /// The descriptor.
        fd: RawFd,
    },
    /// No storage at all: an io_uring that is told to do nothing. Measures the generator and the ring.
    Nop {
        /// The size it pretends to have.
        size_bytes: Bytes,
    },
    /// No storage and no ring: requests complete at once. Measures the generator.
    Null {
        /// The size it pretends to have.
        size_bytes: Bytes,
    },
}

/// A target that is open.
#[derive(Debug)]
pub enum Opened {
    /// A file or block device and its size.
    File {
        /// Ours, or a copy of the caller's.
        file: File,
        /// Its size.
        size: Bytes,
    },
    /// Does nothing in the ring.
    Nop {
        /// The pretended size.
        size: Bytes,
    },
    /// Does nothing.
    Null {
        /// The pretended size.
        size: Bytes,
    },
}

impl TargetSpec {
    /// Opens the target, for writing only if it is to be written.
    ///
    /// # Errors
    /// When the system refuses; with `O_EXCL` that is EBUSY for a device in use.
    pub fn open(&self, writes: bool) -> Result<Opened, LoadError> {
        match self {
            Self::Path { path, direct } => open_path(path, *direct, writes),
            Self::Fd { fd } => duplicate(*fd),
            Self::Nop { size_bytes } => Ok(Opened::Nop { size: *size_bytes }),
            Self::Null { size_bytes } => Ok(Opened::Null { size: *size_bytes }),
        }
    }
}

impl Opened {
    /// Its size.
    #[must_use]
    pub fn size(&self) -> Bytes {
        match self {
            Self::File { size, .. } | Self::Nop { size } | Self::Null { size } => *size,
        }
    }

    /// The descriptor; none of nothing.
    #[must_use]
    pub fn fd(&self) -> Option<RawFd> {
        match self {
            Self::File { file, .. } => Some(file.as_raw_fd()),
            Self::Nop { .. } | Self::Null { .. } => None,
        }
    }
}

fn open_path(path: &PathBuf, direct: bool, writes: bool) -> Result<Opened, LoadError> {
    let purpose = if writes { "reading and writing" } else { "reading" };
    let failed = |source| LoadError::Open { path: path.clone(), purpose, source };
    let is_device = std::fs::metadata(path).map_err(failed)?.file_type().is_block_device();
    let exclusive = if is_device && writes { libc::O_EXCL } else { 0 };
    let flags = exclusive | if direct { libc::O_DIRECT } else { 0 };
    let file = OpenOptions::new().read(true).write(writes).custom_flags(flags).open(path).map_err(failed)?;
    with_size(file).map_err(failed)
}

fn duplicate(fd: RawFd) -> Result<Opened, LoadError> {
    let failed = |source| LoadError::Open { path: format!("/proc/self/fd/{fd}").into(), purpose: "the run", source };
    // SAFETY: the caller keeps the descriptor open during the call; if it is not open at all, the copy fails with EBADF.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    let file = borrowed.try_clone_to_owned().map_err(failed)?.into();
    with_size(file).map_err(failed)
}

/// Seeking to the end tells the size of files and block devices alike.
fn with_size(mut file: File) -> std::io::Result<Opened> {
    leave_access_time(&file);
    let size = Bytes(file.seek(SeekFrom::End(0))?);
    Ok(Opened::File { file, size })
}

/// A measurement that reads should not write, and looking whether the time is due takes a thirtieth of an I/O's CPU on a
/// loop device. Only the file's owner may ask for this (open(2), `O_NOATIME`); for others the time is kept as ever.
fn leave_access_time(file: &File) {
    // SAFETY: the descriptor is open, and these calls take and give flags only.
    unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        if flags >= 0 {
            libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags | libc::O_NOATIME);
        }
    }
}

fn yes() -> bool {
    true
}
