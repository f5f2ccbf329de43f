//! Threads that learn, rewrite and retrain while others score.

/// The lowest priority. Where all processors are busy, such threads get about a hundredth of what the others get.
const NICENESS: i32 = 19;

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
