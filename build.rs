//! Links the released program without shared libraries where the system has the static ones: finding, mapping and
//! relocating shared libraries takes a fresh process as long as scoring a message. Elsewhere it links as always.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// What the standard library asks the linker for, and the archive that holds it.
const LIBRARIES: [(&str, &str); 7] = [
    ("gcc_s", "gcc_eh"),
    ("util", "util"),
    ("rt", "rt"),
    ("pthread", "pthread"),
    ("m", "m"),
    ("dl", "dl"),
    ("c", "c"),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if let Some(directory) = static_libraries() {
        println!("cargo:rustc-link-arg-bins=-L{}", directory.display());
        println!("cargo:rustc-link-arg-bins=-static-pie");
        if starts_packed().unwrap_or(false) {
            println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        }
    }
}

/// Whether the C library starts programs whose relocations are packed, which saves reading 300 kB of them: glibc does
/// since 2.36.
fn starts_packed() -> Option<bool> {
    let macros =
        Command::new("cc").args(["-E", "-dM", "-include", "features.h", "-xc", "/dev/null"]).output().ok()?;
    let macros = String::from_utf8(macros.stdout).ok()?;
    let number =
        |name: &str| macros.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u32>().ok());
    Some((number("#define __GLIBC__ ")?, number("#define __GLIBC_MINOR__ ")?) >= (2, 36))
}

/// A folder of linker scripts, each named as a shared library and naming an archive: they are found before those of
/// the system. `None` if an archive is not here, in test builds and when building for another system.
fn static_libraries() -> Option<PathBuf> {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|it| it == value);
    let is_linux = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    let is_here = env::var_os("HOST") == env::var_os("TARGET");
    if !is("PROFILE", "release") || !is_linux || !is_here {
        return None;
    }
    let directory = PathBuf::from(env::var_os("OUT_DIR")?);
    for (shared, archive) in LIBRARIES {
        let question = format!("-print-file-name=lib{archive}.a");
        let answer = Command::new("cc").arg(question).output().ok()?;
        let path = String::from_utf8(answer.stdout).ok()?;
        let path = Path::new(path.trim());
        // a compiler that does not know the file repeats the bare name
        if !path.is_absolute() || !path.is_file() {
            return None;
        }
        let script = format!("GROUP ( {} )\n", path.display());
        fs::write(directory.join(format!("lib{shared}.a")), script).ok()?;
    }
    Some(directory)
}
