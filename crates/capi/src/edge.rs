//! The boundary to C: pointers become references or errors; errors and panics become a text that C can ask for.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The message of the last call that failed on this thread.
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// A value, or the error message for C.
pub(crate) type CallResult<T> = Result<T, String>;

/// Runs a call from C. On an error or a panic, keeps its message and returns `failed`.
pub(crate) fn guard<T>(failed: T, call: impl FnOnce() -> CallResult<T>) -> T {
    // unwind safe: whatever a panic interrupts is behind locks that are taken even when poisoned, see `TamisFilter`
    let said = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => return value,
        Ok(Err(said)) => said,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            format!("a fault of tamis: {text}")
        }
    };
    // fails on a thread that is ending, where nobody can ask for the message any more
    let _ = LAST_ERROR.try_with(|last| last.replace(c_text(&said)));
    failed
}

/// Returns the message of the last failure on this thread, empty if there was none. Valid until the next failure.
pub(crate) fn last_error() -> *const c_char {
    LAST_ERROR.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Converts text for C. A zero byte would end it early, so those within the text are replaced.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// Returns the object behind a pointer, or an error for NULL.
///
/// # Safety
/// The pointer is null, or points to an object that lives and is not written to for as long as the reference is used.
pub(crate) unsafe fn object<'a, T>(name: &str, pointer: *const T) -> CallResult<&'a T> {
    // SAFETY: `as_ref` checks for null; the caller promises the rest
    unsafe { pointer.as_ref() }.ok_or_else(|| format!("{name}: expected a pointer, got NULL"))
}

/// Returns the `length` bytes or numbers behind a pointer, which may be null if `length` is 0.
///
/// # Safety
/// The pointer is null, or points to `length` of them that live and are not written to for as long as the slice is used.
pub(crate) unsafe fn slice<'a, T>(name: &str, pointer: *const T, length: usize) -> CallResult<&'a [T]> {
    let (most, what) =
        (isize::MAX as usize / size_of::<T>(), if size_of::<T>() == 1 { "bytes" } else { "numbers" });
    match length {
        0 => Ok(&[]),
        _ if pointer.is_null() => Err(format!("{name}: expected a pointer to {length} {what}, got NULL")),
        _ if length > most => Err(format!("{name}: expected at most {most} {what}, got {length}")),
        _ if !pointer.is_aligned() => Err(format!("{name}: expected an aligned pointer, got another")),
        // SAFETY: not null, aligned and no longer than an object may be; the caller promises the rest
        _ => Ok(unsafe { std::slice::from_raw_parts(pointer, length) }),
    }
}

/// Returns the text behind a pointer, up to its zero byte, or an error for NULL.
///
/// # Safety
/// The pointer is null, or points to bytes that end with a zero and are not written to for as long as the text is used.
pub(crate) unsafe fn text<'a>(name: &str, pointer: *const c_char) -> CallResult<&'a CStr> {
    // SAFETY: not null; the caller promises that a zero byte ends the text
    let text = (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) });
    text.ok_or_else(|| format!("{name}: expected text, got NULL"))
}

/// Writes a value through a pointer, or returns an error for NULL.
///
/// # Safety
/// The pointer is null, or points to room for the value that nobody else uses meanwhile.
pub(crate) unsafe fn write<T>(name: &str, pointer: *mut T, value: T) -> CallResult<()> {
    if pointer.is_null() {
        return Err(format!("{name}: expected a pointer, got NULL"));
    }
    // SAFETY: not null, and the caller promises room for a value; the old bytes are overwritten, not dropped
    unsafe { pointer.write(value) };
    Ok(())
}

/// Drops the object that a pointer owns. Does nothing if it is null.
///
/// # Safety
/// The pointer is null, or came from `Box::into_raw` and is not used again.
pub(crate) unsafe fn free<T>(pointer: *mut T) -> CallResult<()> {
    if !pointer.is_null() {
        // SAFETY: the caller promises that it came from a box
        drop(unsafe { Box::from_raw(pointer) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said() -> String {
        // SAFETY: the text belongs to this thread, which copies it before it can change
        unsafe { CStr::from_ptr(last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_ends_at_the_edge_and_is_told() {
        assert_eq!(guard(-1, || panic!("expected {}", 5)), -1);
        assert_eq!(said(), "a fault of tamis: expected 5");
        assert_eq!(guard(-1, || panic!("plain")), -1);
        assert_eq!(said(), "a fault of tamis: plain");
        assert_eq!(guard(-1, || std::panic::panic_any(7)), -1);
        assert_eq!(said(), "a fault of tamis: a panic");
    }

    #[test]
    fn errors_are_those_of_their_thread_until_the_next() {
        assert_eq!(guard(-1, || Err("a\0b".to_owned())), -1);
        assert_eq!(guard(-1, || Ok(1)), 1);
        assert_eq!(said(), "a\u{fffd}b");
        assert_eq!(std::thread::spawn(said).join().unwrap(), "");
    }

    #[test]
    fn null_is_an_error_and_no_bytes_need_no_pointer() {
        // SAFETY: null is allowed everywhere; those that are not null are refused for their length or place, and never
        // read
        unsafe {
            assert!(object::<u8>("x", std::ptr::null()).is_err());
            assert!(text("x", std::ptr::null()).is_err());
            assert!(write("x", std::ptr::null_mut(), 1).is_err());
            assert!(slice::<u8>("x", std::ptr::null(), 1).is_err());
            assert_eq!(slice::<u8>("x", std::ptr::null(), 0).unwrap(), b"");
            assert!(slice("x", [0u8].as_ptr(), usize::MAX).is_err());
            assert!(slice("x", [0f32].as_ptr(), usize::MAX / 4).is_err());
            assert!(slice("x", [0f32; 2].as_ptr().byte_add(1), 1).is_err());
            free::<u8>(std::ptr::null_mut()).unwrap();
        }
    }
}
