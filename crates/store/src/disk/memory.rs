//! Memory and the system: lost pages of mapped files, and large blocks of the allocator.
#![allow(unsafe_code)]

#[cfg(unix)]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of lost pages.
static LOST: AtomicUsize = AtomicUsize::new(0);

/// The number of pages of mapped files that were lost so far. A map that was made before the last one may have zeros where its
/// file has, or had, something else.
pub(crate) fn n_lost_pages() -> usize {
    LOST.load(Ordering::Acquire)
}

/// What the process did at this signal before.
#[cfg(unix)]
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Lets the process survive when the file of a mapped model is truncated, or a part of it cannot be read: handles
/// SIGBUS. Lost pages read as zeros, and `Filter::check_unchanged` returns an error for every model that was open; a
/// `LiveFilter` then opens its file again. For programs, at their start. A SIGBUS of another kind does what it did
/// before.
#[cfg(unix)]
pub fn survive_lost_pages() {
    // SAFETY: the structures are plain data for which zeros are valid. The handler has the type that SA_SIGINFO asks
    // for, and only makes system calls and atomic loads and stores, which a signal may interrupt anywhere.
    unsafe {
        let (mut action, mut before): (libc::sigaction, libc::sigaction) =
            (std::mem::zeroed(), std::mem::zeroed());
        action.sa_sigaction = on_lost_page as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        if libc::sigaction(libc::SIGBUS, &action, &mut before) == 0 {
            // the second call would find this handler itself
            BEFORE.get_or_init(|| before);
        }
    }
}

/// The code of a signal for a mapped address without file contents behind it.
#[cfg(unix)]
const BUS_ADRERR: i32 = 2;

/// Handles a lost page of a mapped file: replaces it with zeros, and reading goes on.
#[cfg(unix)]
extern "C" fn on_lost_page(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the system gives the handler a whole structure, with an address for this signal. Nothing can be read
    // from the page around it, so no other value lies there. Read-only zeros are valid for bytes, which is all that is
    // mapped from files and read.
    unsafe {
        // first: whoever reads the zeros finds the count changed
        LOST.fetch_add(1, Ordering::Release);
        let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
        let address = (*info).si_addr() as usize & !(page - 1);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let is_mended = (*info).si_code == BUS_ADRERR
            && libc::mmap(address as *mut libc::c_void, page, libc::PROT_READ, flags, -1, 0) as usize
                == address;
        if !is_mended {
            // the instruction runs again, and so does the former action
            let default = std::mem::zeroed();
            libc::sigaction(signal, BEFORE.get().unwrap_or(&default), std::ptr::null_mut());
        }
    }
}

/// Blocks of this many bytes are given back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: libc::c_int = 256 << 10;

/// Makes the process give large blocks back to the system as soon as they are freed, at the cost of some system calls.
///
/// By default glibc raises the size from which it does so to that of the largest block freed so far, up to 32 MiB, and keeps
/// what is smaller (mallopt(3), M_MMAP_THRESHOLD). A program that trains twice then takes half as much again. Other C
/// libraries are left as they are.
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function only sets a number, under a lock of its own
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}
