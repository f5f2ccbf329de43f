//! Starting, following models, stopping.

use crate::support::{Running, train};

const HTTP: &str = "[spamd]\nlisten = [\"unix:FOLDER/spamd.sock\"]\n";

#[test]
fn a_server_without_a_model_says_what_makes_one_and_stops_when_told() {
    let mut running = Running::start_in(tempfile::tempdir().unwrap(), HTTP);
    running.wait_for(|lines| lines.iter().any(|line| line.contains("tamis train -m")));
    running.signal("-TERM");
    assert!(running.child.wait().unwrap().success());
    assert!(!running.path("spamd.sock").exists());
}

#[test]
fn settings_are_read_again_and_bad_ones_change_nothing() {
    let running = Running::start(HTTP);
    let path = running.path("tamisd.toml");
    let settings = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("nonsense = 1\n{settings}")).unwrap();
    running.signal("-HUP");
    running.wait_for(|lines| lines.iter().any(|line| line.contains("stay as they are")));
    std::fs::write(&path, settings).unwrap();
    running.signal("-HUP");
    running.wait_for(|lines| lines.iter().any(|line| line.contains("read again")));
    train(&running.path("model.tamis"));
}
