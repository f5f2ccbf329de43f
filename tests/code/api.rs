//! What the libraries promise: every public item with its signature, one page a crate in `docs/api`.
//!
//! `API=overwrite cargo test --test tests api` writes the pages anew. They are read from the sources as rustfmt leaves them;
//! what macros write is not on them.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;

use crate::code::rooms::{Modules, declared, paths, read};
use crate::support::root;

/// An item of a file.
struct Item {
    attributes: Vec<String>,
    lines: Vec<String>,
    /// All before its body, in one line.
    signature: String,
}

impl Item {
    fn is_hidden(&self) -> bool {
        self.attributes.iter().any(|attribute| attribute == "#[doc(hidden)]")
    }

    /// The items of its body.
    fn members(&self) -> Vec<Item> {
        let body = self.lines.get(1..self.lines.len().saturating_sub(1)).unwrap_or_default();
        items(body.iter().map(|line| line.strip_prefix("    ").unwrap_or(line)))
    }
}

/// Items that begin at the left margin.
fn items<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Item> {
    let (mut all, mut attributes, mut item) = (Vec::new(), Vec::new(), Vec::<String>::new());
    let mut has_body = false;
    for line in lines.map(str::trim_end).filter(|line| !line.is_empty()) {
        if item.is_empty() && line.starts_with("#[") {
            attributes.push(line.to_owned());
            continue;
        }
        item.push(line.to_owned());
        has_body |= line.ends_with('{');
        let is_end = if line.starts_with(' ') {
            !has_body && line.ends_with(';')
        } else {
            line.ends_with([';', '}', ','])
        };
        if is_end {
            has_body = false;
            let (attributes, lines) = (std::mem::take(&mut attributes), std::mem::take(&mut item));
            all.push(Item { signature: signature(&lines), attributes, lines });
        }
    }
    all
}

/// Lines up to the body, as one.
fn signature(lines: &[String]) -> String {
    let whole = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    let end = whole.find(" {").unwrap_or(whole.len());
    let whole = whole[..end].trim_end_matches([';', ',']).replace("( ", "(").replace(", )", ")");
    let whole = whole.replace("(mut ", "(").replace(", mut ", ", ");
    match whole.strip_prefix("pub const ").filter(|rest| !rest.starts_with("fn ")) {
        Some(_) => whole.split(" = ").next().unwrap_or_default().to_owned(),
        None => whole,
    }
}

/// The name that a public item declares.
fn declared_name(signature: &str) -> Option<&str> {
    let kinds = ["struct", "enum", "trait", "fn", "type", "const", "static"];
    let mut words = signature.strip_prefix("pub ")?.split(' ').skip_while(|word| !kinds.contains(word));
    let mut name = words.nth(1)?;
    if name == "fn" {
        name = words.next()?;
    }
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// The trait, if there is one, and the name of the type that an `impl` is of.
fn implemented(signature: &str) -> Option<(Option<&str>, &str)> {
    let mut rest = signature.strip_prefix("impl")?;
    if rest.starts_with('<') {
        let mut depth = 0;
        let end = rest.char_indices().find(|(at, c)| {
            depth += i32::from(*c == '<') - i32::from(*c == '>' && !rest[..*at].ends_with('-'));
            depth == 0
        });
        rest = &rest[end?.0 + 1..];
    }
    let (of_trait, of_type) = match rest.split_once(" for ") {
        Some((of_trait, of_type)) => (Some(of_trait.trim()), of_type),
        None => (None, rest),
    };
    let of_type = of_type.trim().trim_start_matches('&').split(['<', ' ']).next()?;
    Some((of_trait, of_type.rsplit("::").next()?))
}

/// The lines of a public item: with its fields or variants, its functions, and the traits that it has.
fn describe(item: &Item, name: &str, all: &[(String, Item)]) -> String {
    let mut signature = item.signature.clone();
    if let Some((head, fields)) = signature.split_once('(').filter(|_| signature.starts_with("pub struct")) {
        // private fields of a tuple
        let of = |field: &str| {
            if field.trim_start().starts_with("pub ") { field.to_owned() } else { "_".to_owned() }
        };
        let fields: Vec<_> = fields.trim_end_matches(')').split(", ").map(of).collect();
        signature = format!("{head}({})", fields.join(", "));
    }
    let mut lines = vec![String::new()];
    lines.extend(
        item.attributes.iter().filter(|a| ["#[non_exhaustive]", "#[must_use]"].contains(&&***a)).cloned(),
    );
    lines.push(signature.clone());
    if signature.starts_with("pub enum") {
        let mut is_attribute = false;
        for line in &item.lines[1..item.lines.len() - 1] {
            is_attribute |= line.trim().starts_with("#[");
            if !is_attribute {
                lines.push(line.replace("#[from] ", ""));
            }
            is_attribute &= !line.ends_with(']');
        }
    } else if signature.starts_with("pub trait") {
        lines.extend(item.members().iter().map(|member| format!("    {}", member.signature)));
    } else if signature.starts_with("pub struct") {
        let fields = item.members();
        let public = fields.iter().map(|field| &field.signature).filter(|field| field.starts_with("pub "));
        lines.extend(public.map(|field| format!("    {field}")));
    }
    let derives = item.attributes.iter().filter_map(|a| a.strip_prefix("#[derive(")?.strip_suffix(")]"));
    let mut traits: BTreeSet<String> = derives.flat_map(|list| list.split(", ").map(str::to_owned)).collect();
    for (of, head) in all.iter().map(|(_, item)| (item, &item.signature)) {
        match implemented(head).filter(|(_, of_type)| *of_type == name) {
            Some((Some(of_trait), _)) => drop(traits.insert(of_trait.to_owned())),
            Some((None, _)) => {
                let public = of.members().into_iter().filter(|member| !member.is_hidden());
                let public =
                    public.map(|member| member.signature).filter(|member| member.starts_with("pub "));
                lines.extend(
                    public.filter(|member| declared_name(member).is_some()).map(|m| format!("    {m}")),
                );
            }
            None => (),
        }
    }
    if !traits.is_empty() {
        lines.push(format!("    impl {}", traits.into_iter().collect::<Vec<_>>().join(", ")));
    }
    lines.join("\n")
}

/// What a module exports, as lines by name: what it declares, if it is not the root, and what it re-exports.
fn exports(
    module: &str,
    within: &str,
    modules: &Modules,
    all: &[(String, Item)],
    out: &mut BTreeMap<String, String>,
) {
    export_items(&items(modules[module].lines()), module, within, modules, all, out);
}

/// As [`exports`], for items that stand in `module`, or in a module written inline in it.
fn export_items(
    of_module: &[Item],
    module: &str,
    within: &str,
    modules: &Modules,
    all: &[(String, Item)],
    out: &mut BTreeMap<String, String>,
) {
    let named = |name: &str| if within.is_empty() { name.to_owned() } else { format!("{within}::{name}") };
    for item in of_module.iter().filter(|item| !item.is_hidden()) {
        let text = item.lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        if let Some(name) = text.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(';')) {
            let inner = if module == "lib" { name.to_owned() } else { format!("{module}::{name}") };
            exports(&inner, &named(name), modules, all, out);
        } else if let Some(name) = item.lines[0].strip_prefix("pub mod ").and_then(|r| r.strip_suffix(" {")) {
            export_items(&item.members(), module, &named(name), modules, all, out);
        } else if let Some(tree) = text.strip_prefix("pub use ").and_then(|rest| rest.strip_suffix(';')) {
            for path in paths(tree) {
                let name = path.rsplit("::").next().unwrap();
                let full = match path.strip_prefix("crate::") {
                    Some(path) => path.to_owned(),
                    None if module == "lib" => path.clone(),
                    None => format!("{module}::{path}"),
                };
                let room = full.split("::").next().unwrap();
                if path.starts_with("tamis_") {
                    out.insert(named(name), format!("\npub use {path}"));
                } else if modules.contains_key(&full) {
                    exports(&full, &named(name), modules, all, out);
                } else {
                    let of_name = |(_, item): &&(String, Item)| declared_name(&item.signature) == Some(name);
                    let place = full.rsplit_once("::").unwrap().0;
                    let found =
                        all.iter().filter(of_name).min_by_key(|(at, _)| (at != place, !at.starts_with(room)));
                    let (_, item) =
                        found.unwrap_or_else(|| panic!("{module}: pub use of {path}, which is nowhere"));
                    if !item.is_hidden() {
                        out.insert(named(name), describe(item, name, all));
                    }
                }
            }
        } else if let Some(name) = declared_name(&item.signature).filter(|_| !within.is_empty()) {
            out.insert(named(name), describe(item, name, all));
        }
    }
}

/// The page of a crate.
fn page(name: &str) -> String {
    let mut modules = Modules::new();
    read(&root().join("crates").join(name).join("src"), "", &mut modules);
    let modules = declared(modules);
    let of_module = |(module, code): (&String, &String)| {
        items(code.lines()).into_iter().map(|item| (module.clone(), item)).collect::<Vec<_>>()
    };
    let all: Vec<_> = modules.iter().flat_map(of_module).collect();
    let mut out = BTreeMap::new();
    exports("lib", "", &modules, &all, &mut out);
    let mut page = format!("# Public items of tamis-{name}, by name (tests/code/api.rs)\n");
    let mut module = "";
    for (name, lines) in out
        .iter()
        .filter(|(name, _)| !name.contains("::"))
        .chain(out.iter().filter(|(name, _)| name.contains("::")))
    {
        let within = name.rsplit_once("::").map_or("", |(within, _)| within);
        if within != module {
            page.push_str(&format!("\n\n## mod {within}\n"));
            module = within;
        }
        page.push_str(lines);
        page.push('\n');
    }
    page
}

#[test]
fn every_public_item_is_on_the_page_of_its_crate() {
    let folder = root().join("docs/api");
    let mut differ = Vec::new();
    for name in [
        "documents",
        "tokenizer",
        "mail",
        "model",
        "textbook",
        "store",
        "filter",
        "train",
        "report",
        "program",
        "bogofilter",
    ] {
        let (file, page) = (folder.join(format!("tamis-{name}.txt")), page(name));
        let known = fs::read_to_string(&file).unwrap_or_default();
        if env::var("API").is_ok_and(|how| how == "overwrite") {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&file, &page).unwrap();
        } else if known != page {
            let line = known.lines().zip(page.lines()).find(|(known, got)| known != got);
            differ.push(format!(
                "{}: expected {:?}, got {:?}",
                file.display(),
                line.map(|l| l.0),
                line.map(|l| l.1)
            ));
        }
    }
    let how = "if the change is meant, `API=overwrite cargo test --test tests api` writes the pages anew";
    assert!(differ.is_empty(), "{}\n{how}", differ.join("\n"));
}
