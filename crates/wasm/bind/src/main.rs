//! Writes the JavaScript and the types that go with the WebAssembly, and the latter as they need it: `bind WASM DIRECTORY`.

use std::env;
use std::path::PathBuf;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args_os().skip(1);
    let (Some(wasm), Some(directory)) = (arguments.next(), arguments.next()) else {
        return Err("usage: bind WASM DIRECTORY".into());
    };
    for is_commonjs in [false, true] {
        let (mut bindgen, mut directory) = (Bindgen::new(), PathBuf::from(&directory));
        bindgen.input_path(&wasm).out_name("tamis").typescript(true);
        if is_commonjs {
            directory.push("commonjs");
            bindgen.nodejs(true)?;
        } else {
            bindgen.web(true)?.omit_default_module_path(false);
        }
        bindgen.remove_name_section(true).remove_producers_section(true).generate(directory)?;
    }
    Ok(())
}
