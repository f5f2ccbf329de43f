//! Copies a message that is being passed on, even if the system stops the program.
//!
//! The only unsafe code of the programs: signal handlers and code that runs before `main` cannot do without it.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, AtomicUsize, Ordering};

use crate::output::ERROR;

/// The source of the message to pass on, [`NONE`] if there is none, and the bytes read of it.
static SOURCE: AtomicI32 = AtomicI32::new(NONE);
static HELD: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static N_HELD: AtomicUsize = AtomicUsize::new(0);
const NONE: i32 = -1;

/// The buffer for the rest of the message, since the stack may be full.
static BUFFER: [AtomicU8; 1 << 16] = [const { AtomicU8::new(0) }; 1 << 16];

/// Called by the system's loader, like everything in this section.
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static BEFORE_MAIN: extern "C" fn() = before_main;

/// Does what must be done before Rust starts. Rust's start needs memory, which may be missing, and replaces a closed
/// output with `/dev/null`, which would take a message and lose it.
extern "C" fn before_main() {
    // SAFETY: system calls on descriptors that nobody else uses yet, and on a stack that only handlers use
    unsafe {
        // Rust keeps this stack, so it needs no memory for its own
        let mut stack: libc::stack_t = std::mem::zeroed();
        stack.ss_sp = STACK.0.as_ptr().cast_mut().cast();
        stack.ss_size = size_of::<Stack>();
        libc::sigaltstack(&stack, std::ptr::null_mut());
        if libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) == -1 {
            // writing to a socket without a peer fails, and no file opened later gets this number
            let socket = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0);
            if socket >= 0 && socket != libc::STDOUT_FILENO {
                libc::dup2(socket, libc::STDOUT_FILENO);
                libc::close(socket);
            }
        }
    }
    #[cfg(target_os = "linux")]
    arm_early();
}

/// Arms for a message on standard input or in a file, as the command line says. Uses no memory but the stack.
#[cfg(target_os = "linux")]
fn arm_early() {
    const MOST: usize = 4096;
    let mut line = [0; MOST];
    // SAFETY: reads at most `MOST` bytes into the array, from a file that nobody else uses
    let length = unsafe {
        let file = libc::open(c"/proc/self/cmdline".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let length = libc::read(file, line.as_mut_ptr().cast(), MOST);
        libc::close(file);
        usize::try_from(length).unwrap_or(0)
    };
    // a longer line is left to `main`
    let Some(line) = line[..length].strip_suffix(b"\0").filter(|_| length < MOST) else { return };
    let arguments = line.split(|byte| *byte == 0);
    if may_pass_input_through(arguments.clone()) {
        arm(libc::STDIN_FILENO);
    } else if let Some(file) = file_passed_through(arguments) {
        // SAFETY: each argument ends with a zero
        let file =
            unsafe { libc::open(file.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK) };
        if file >= 0 {
            arm(file);
        }
    }
}

/// The stack of signal handlers, since the program's own stack may be full.
#[repr(align(16))]
struct Stack([AtomicU8; 1 << 16]);
static STACK: Stack = Stack([const { AtomicU8::new(0) }; 1 << 16]);

/// Lets the program survive when the file of a mapped model is truncated; see
/// [`survive_lost_pages`](tamis_train::survive_lost_pages).
pub fn keep_lost_pages() {
    // what happens when no page of a file was lost
    handle(libc::SIGBUS, on_stop);
    tamis_train::survive_lost_pages();
}

/// Arms the rescue: from now on, if the system stops the program (out of memory, for example), the message from
/// `source` is copied unchanged.
pub fn arm(source: i32) {
    if SOURCE.swap(source, Ordering::AcqRel) != NONE {
        return;
    }
    survive_file_limits();
    for signal in [libc::SIGABRT, libc::SIGSEGV, libc::SIGILL, libc::SIGFPE] {
        handle(signal, on_stop);
    }
}

/// Makes exceeding a file size limit a write error that does not stop the program.
pub fn survive_file_limits() {
    // SAFETY: sets no handler
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Reads once from the message's source, at most `most` bytes, and appends them to `held`. Returns the number of bytes
/// read, 0 at the end. The bytes in `held` must not move until the next call, or until [`disarm`].
pub(crate) fn read(source: &File, held: &mut Vec<u8>, most: usize) -> io::Result<usize> {
    if held.len() == held.capacity() {
        // the old bytes stay until the signal handler knows the new address
        let mut larger = Vec::new();
        larger.try_reserve_exact(held.len() + held.len().max(LEAST))?;
        larger.extend_from_slice(held);
        HELD.store(larger.as_mut_ptr(), Ordering::Release);
        *held = larger;
    }
    let room = held.spare_capacity_mut();
    let most = most.min(room.len());
    // SAFETY: the system writes at most `most` bytes into the spare room after the vector's end, and returns their
    // number
    let n = unsafe {
        let n = libc::read(source.as_raw_fd(), room.as_mut_ptr().cast(), most);
        held.set_len(held.len() + n.max(0) as usize);
        n
    };
    HELD.store(held.as_mut_ptr(), Ordering::Release);
    N_HELD.store(held.len(), Ordering::Release);
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Room for most messages.
const LEAST: usize = 64 << 10;

/// Disarms the rescue, since the message is now being written.
pub(crate) fn disarm() {
    SOURCE.store(NONE, Ordering::Release);
}

type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

fn handle(signal: i32, handler: Handler) {
    // SAFETY: the structure is plain data for which zeros are valid. The handlers have the type that SA_SIGINFO asks
    // for, and only make system calls and atomic loads and stores, which a signal may interrupt anywhere.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

/// Handles a signal that stops the program: writes the message unchanged.
extern "C" fn on_stop(signal: i32, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let source = SOURCE.swap(NONE, Ordering::AcqRel);
    // SAFETY: only system calls, on the bytes that `read` stored and on a buffer that nobody else uses.
    unsafe {
        if source == NONE {
            // restore the default action
            libc::signal(signal, libc::SIG_DFL);
            return;
        }
        let said = b"tamis: stopped by the system; the message is passed on unchanged\n";
        write_all(2, said.as_ptr(), said.len());
        let mut is_written =
            write_all(1, HELD.load(Ordering::Acquire).cast_const(), N_HELD.load(Ordering::Acquire));
        while is_written {
            let buffer = BUFFER.as_ptr().cast::<u8>().cast_mut();
            match libc::read(source, buffer.cast(), BUFFER.len()) {
                n if n > 0 => is_written = write_all(1, buffer, n as usize),
                n if n < 0 && was_interrupted() => (),
                _ => break,
            }
        }
        libc::_exit(ERROR.into());
    }
}

/// Writes `n` bytes. Returns whether that succeeded.
///
/// # Safety
/// `bytes` must point to `n` readable bytes.
unsafe fn write_all(to: i32, mut bytes: *const u8, mut n: usize) -> bool {
    while n > 0 {
        // SAFETY: the caller's promise covers the remaining bytes
        unsafe {
            match libc::write(to, bytes.cast(), n) {
                written if written > 0 => {
                    bytes = bytes.add(written as usize);
                    n -= written as usize;
                }
                written if written < 0 && was_interrupted() => (),
                _ => return false,
            }
        }
    }
    true
}

fn was_interrupted() -> bool {
    io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
}

/// Options of `tamis score` whose value may be the next argument.
const WITH_VALUE: [&[u8]; 8] =
    [b"-m", b"--model", b"--fallback", b"--log", b"--prior", b"--cost", b"--unsure", b"--spam-label"];

/// Whether the arguments, beginning with the program's name, ask to pass a message through.
pub fn asks_for_passthrough<'a>(mut arguments: impl Iterator<Item = &'a [u8]> + Clone) -> bool {
    let is_passthrough = |a: &[u8]| a.starts_with(b"--pass") || is_short_with_p(a);
    arguments.clone().any(|a| a == b"score") && arguments.any(is_passthrough)
}

/// The arguments that could name a file.
fn files<'a>(arguments: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = &'a [u8]> {
    let mut is_value = false;
    arguments.skip(2).filter(move |a| {
        let is_file = !is_value && !a.starts_with(b"-");
        is_value = WITH_VALUE.contains(a);
        is_file
    })
}

/// Whether that message is certainly on standard input, because no argument could name a file.
pub fn passes_input_through<'a>(arguments: impl Iterator<Item = &'a [u8]> + Clone) -> bool {
    asks_for_passthrough(arguments.clone()) && files(arguments).next().is_none()
}

/// The file of the message to pass through, if exactly one argument could name it.
fn file_passed_through<'a>(arguments: impl Iterator<Item = &'a [u8]> + Clone) -> Option<&'a [u8]> {
    let mut files = files(arguments.clone());
    let file = files.next().filter(|_| asks_for_passthrough(arguments))?;
    files.next().is_none().then_some(file)
}

/// As [`passes_input_through`], but also covers `tamis bogofilter -p` and tamis called as bogofilter.
fn may_pass_input_through<'a>(arguments: impl Iterator<Item = &'a [u8]> + Clone) -> bool {
    let mut first = arguments.clone();
    let is_bogofilter =
        first.next().is_some_and(|a| a.ends_with(b"bogofilter")) || first.next() == Some(b"bogofilter");
    let is_passthrough = |a: &[u8]| a.starts_with(b"--pass") || is_short_with_p(a) && !a.contains(&b'/');
    let names_a_file = |a: &[u8]| a.starts_with(b"-I") || a.starts_with(b"--input");
    match is_bogofilter {
        true => arguments.clone().any(is_passthrough) && !arguments.clone().any(names_a_file),
        false => passes_input_through(arguments),
    }
}

/// Whether an argument is a cluster of short options that includes `-p`.
fn is_short_with_p(argument: &[u8]) -> bool {
    argument.starts_with(b"-") && !argument.starts_with(b"--") && argument.contains(&b'p')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_at_hand_while_more_is_waited_for() {
        let (reader, writer) = io::pipe().unwrap();
        let source = File::from(std::os::fd::OwnedFd::from(reader));
        let mut held = vec![b'x'; LEAST];
        held.shrink_to_fit();
        let before = held.as_mut_ptr() as usize;
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| read(&source, &mut held, 1));
            // while nothing comes
            let is_at_hand = || {
                let at = HELD.load(Ordering::Acquire) as usize;
                at != 0 && at != before
            };
            tamis_testing::wait_for(is_at_hand, || "what is held has moved and is at hand".to_owned());
            drop(writer);
            assert_eq!(reading.join().unwrap().unwrap(), 0);
        });
        assert_eq!(held.as_mut_ptr(), HELD.load(Ordering::Acquire));
        assert!(held.len() == LEAST && held.iter().all(|byte| *byte == b'x'));
    }

    #[test]
    fn the_file_is_found_among_options() {
        let file = |line: &'static str| file_passed_through(line.split(' ').map(str::as_bytes));
        assert_eq!(file("tamis score -p -m a.tamis message.eml"), Some(&b"message.eml"[..]));
        assert_eq!(file("tamis score -p a.eml b.eml"), None);
        assert_eq!(file("tamis score message.eml"), None);
        assert_eq!(file("tamis score -p -m message.eml"), None);
    }

    #[test]
    fn what_is_passed_through_is_seen_in_the_arguments() {
        let check = |line: &str, asks: bool, certainly: bool, early: bool| {
            let arguments = line.split(' ').map(str::as_bytes);
            assert_eq!(asks_for_passthrough(arguments.clone()), asks, "{line}");
            assert_eq!(passes_input_through(arguments.clone()), certainly, "{line}");
            assert_eq!(may_pass_input_through(arguments), early, "{line}");
        };
        check("tamis score", false, false, false);
        check("tamis score -p", true, true, true);
        check("/usr/bin/tamis score --passthrough -m a.tamis --log syslog", true, true, true);
        check("tamis score -ep message.eml", true, false, false);
        check("tamis learn -p", false, false, false);
        check("tamis score --nonsense -p", true, true, true);
        check("/home/a/bin/bogofilter -p -e", false, false, true);
        check("tamis bogofilter -e -p -I message.eml", false, false, false);
        check("bogofilter -s -d/tmp", false, false, false);
    }
}
