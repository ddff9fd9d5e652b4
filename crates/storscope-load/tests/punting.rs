//! The watch sees when the kernel hands a ring's I/Os to threads of its own.

use std::io::Write;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, squeue::Flags, types::Fd};
use storscope_load::PuntWatch;

const IOS: u64 = 64;

/// Reads one block at a time; `flags` may force each to a kernel thread.
fn handed_over(flags: Flags) -> bool {
    let mut file = tempfile::tempfile_in("/var/tmp").unwrap();
    file.write_all(&[1; 4096]).unwrap();
    let mut block = [0_u8; 4096];
    let mut ring = IoUring::new(4).unwrap();
    let watch = PuntWatch::begin();
    for _ in 0..IOS {
        let entry = opcode::Read::new(Fd(file.as_raw_fd()), block.as_mut_ptr(), 4096).build().flags(flags);
        // SAFETY: file and block outlive the read, which is waited for below.
        unsafe { ring.submission().push(&entry).unwrap() };
        ring.submit_and_wait(1).unwrap();
        assert!(ring.completion().all(|completion| completion.result() == 4096));
    }
    watch.handed_over(IOS)
}

#[test]
fn reads_from_the_page_cache_are_done_at_once() {
    assert!(!handed_over(Flags::empty()));
}

#[test]
fn forced_reads_are_seen_as_handed_over() {
    assert!(handed_over(Flags::ASYNC));
}

#[test]
fn too_few_ios_say_nothing() {
    assert!(!PuntWatch::begin().handed_over(3));
}
