//! Threads that learn, rewrite and retrain while others score.

/// Where all processors are busy, such threads get a tenth of what the others get. With the lowest priority, 19, they
/// would get a hundredth, which is little for corrections on a machine that has other work.
const NICENESS: i32 = 10;

/// Lets threads that score go first. On Linux a priority is the calling thread's own; elsewhere it would be that of the
/// whole server, so nothing happens there.
pub(crate) fn step_back() {
    if cfg!(target_os = "linux") {
        // otherwise it is as fast as the others
        let _ = rustix::process::setpriority_process(None, NICENESS);
    }
}

/// Starts the threads that retrain models: nothing else here runs in parallel.
pub(crate) fn start() {
    // if the program that embeds the server has started them, they stay as they are
    let _ = rayon::ThreadPoolBuilder::new().start_handler(|_| step_back()).build_global();
}
