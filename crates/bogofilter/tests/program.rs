//! The program `bogofilter`: it answers, and passes a message on whatever fails.

use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn a_message_comes_out_although_there_can_be_no_model() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bogofilter"));
    let mut child = command
        .args(["-C", "-p", "-d", "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"Subject: a\n\nb\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"Subject: a\n\nb\n");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("bogofilter: ") && said.contains("the file already exists"), "{said}");
    assert_eq!(output.status.code(), Some(3));
}
