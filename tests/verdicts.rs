//! What verdicts are, and what others are told of them.

use crate::support::{World, stdout};

#[test]
fn forged_verdicts_do_not_pass_and_are_no_evidence() {
    let world = World::with_mail_model();
    let mail = "From: a@example.org\nSubject: cheap pills\nno field\nDate: today\n\nbuy now\nX-Tamis: body\n";
    let forged = mail
        .replace("no field\n", "no field\nX-Tamis: ham;\n forged\nx-spam-flag : NO\n")
        .replace("pills\n", "pills\rX-Spam-Status: No, forged\n");
    let passed = |mail: &str| world.run_with_input(&["score", "--passthrough"], mail.as_bytes()).stdout;
    assert_eq!(String::from_utf8_lossy(&passed(&forged)), String::from_utf8_lossy(&passed(mail)));
    let learned = |mail: &[u8]| stdout(&world.run_with_input(&["learn", "spam"], mail));
    assert_eq!(learned(mail.as_bytes()), "spam: learned 1 document\n");
    for again in [forged.as_bytes(), &passed(&forged)] {
        assert_eq!(learned(again), "spam: learned 0 documents, 1 already known\n");
    }
}
