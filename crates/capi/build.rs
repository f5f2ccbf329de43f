//! Names the shared library for those who link it: `libtamis.so.0.1`. Before 1.0 a minor version may change the ABI.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    if let [Ok(major), Ok(minor)] =
        ["MAJOR", "MINOR"].map(|part| env::var(format!("CARGO_PKG_VERSION_{part}")))
        && is_linux
    {
        let version = if major == "0" { format!("0.{minor}") } else { major };
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtamis.so.{version}");
    }
}
