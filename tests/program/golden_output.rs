//! What the program prints, word for word (`TRYCMD=overwrite cargo test golden` writes it anew).

#[test]
fn the_program_prints_what_it_printed() {
    trycmd::TestCases::new()
        .case("tests/cmd/*.trycmd")
        .register_bin("tamis", trycmd::cargo::cargo_bin!("tamis"));
}
