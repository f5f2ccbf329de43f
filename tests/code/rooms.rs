//! Dependencies run one way: between the rooms (folders) of a crate as the table in `ARCHITECTURE.md` has them, lowest
//! first, and between its files in no circle. Tests, and the file at the root of a crate, may use everything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::support::root;

/// The code of a crate: each file by the path of its module.
pub type Modules = BTreeMap<String, String>;

/// What a file uses, each with the line that says so, from 1.
type Uses = BTreeMap<String, BTreeMap<String, usize>>;

pub fn read(folder: &Path, at: &str, modules: &mut Modules) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let module = if at.is_empty() { name.clone() } else { format!("{at}::{name}") };
        if name == "tests" {
            continue;
        }
        if path.is_dir() {
            read(&path, &module, modules);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            modules.insert(module, without_tests(&fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Leaves out files that belong to another program, or to tests: their parent does not declare them.
pub fn declared(modules: Modules) -> Modules {
    let is_declared = |module: &str| {
        let (parent, name) = module.rsplit_once("::").unwrap_or(("", module));
        let parent = modules.get(parent).or(modules.get("lib")).or(modules.get("main")).unwrap();
        matches!(module, "lib" | "main") || parent.lines().any(|line| line.ends_with(&format!("mod {name};")))
    };
    modules
        .iter()
        .filter(|(module, _)| is_declared(module))
        .map(|(module, code)| (module.clone(), code.clone()))
        .collect()
}

/// The code without comments and without what only tests are built with, on the same lines.
fn without_tests(source: &str) -> String {
    let mut code = String::new();
    // what ends the item that is left out: the line that is its indentation and `}`; without a body, its first line that
    // ends with `;`, `,` or `}`
    let mut left_out: Option<(String, bool)> = None;
    for line in source.lines() {
        let line = without_comment(line);
        match &mut left_out {
            None if line.trim() == "#[cfg(test)]" => {
                let indent = &line[..line.len() - line.trim_start().len()];
                left_out = Some((format!("{indent}}}"), false));
            }
            None => code.push_str(line),
            Some((end, has_body)) => {
                *has_body |= line.ends_with('{');
                if line == end || !*has_body && line.ends_with([';', ',', '}']) {
                    left_out = None;
                }
            }
        }
        code.push('\n');
    }
    code
}

/// The line up to `//`, unless that stands in a string.
fn without_comment(line: &str) -> &str {
    let mut slashes = line.match_indices("//").map(|(at, _)| at);
    let end = slashes.find(|at| line[..*at].matches('"').count().is_multiple_of(2));
    line[..end.unwrap_or(line.len())].trim_end()
}

/// The paths of a use tree, `a::{b, c::d}` as `a::b` and `a::c::d`.
pub fn paths(tree: &str) -> Vec<String> {
    let Some((head, rest)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut start, mut all) = (0, 0, Vec::new());
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = inner[start..at].trim();
                let inner_paths = if part.is_empty() { Vec::new() } else { paths(part) };
                all.extend(inner_paths.into_iter().map(|path| format!("{}{path}", head.trim())));
                start = at + 1;
            }
            _ => (),
        }
    }
    all
}

/// Everything that looks like a path from `crate`, `super` or `self`, or into a module declared here; with its place.
fn mentions(code: &str) -> Vec<(usize, String)> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let children =
        code.lines().filter_map(|line| line.trim().strip_suffix(';')?.rsplit_once("mod ").map(|m| m.1));
    let starts: Vec<String> =
        ["crate", "super", "self"].into_iter().chain(children).map(|start| format!("{start}::")).collect();
    let mut found = Vec::new();
    for start in &starts {
        for (at, _) in code.match_indices(start.as_str()) {
            if code[..at].ends_with(is_path) {
                continue;
            }
            let mut end = at + code[at..].find(|c| !is_path(c)).unwrap_or(code.len() - at);
            if code[end..].starts_with('{') {
                let mut depth = 0;
                let close = code[end..].find(|c| {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    depth == 0
                });
                end += close.unwrap_or(0) + 1;
            }
            found.extend(paths(&code[at..end]).into_iter().map(|path| (at, path)));
        }
    }
    found
}

/// What the root of a crate re-exports, and from where.
fn exports(root: &str) -> BTreeMap<String, String> {
    let uses = root.split(';').filter_map(|item| item.trim().rsplit_once("pub use ")).map(|(_, tree)| tree);
    let all = uses.flat_map(|tree| paths(&tree.replace('\n', " ")));
    all.filter_map(|path| Some((path.rsplit("::").next()?.rsplit(" as ").next()?.to_owned(), path.clone())))
        .collect()
}

/// The longest beginning of a path that is a module.
fn module_of<'m>(path: &[&str], modules: &'m Modules) -> Option<&'m str> {
    (1..=path.len())
        .rev()
        .find_map(|n| modules.get_key_value(&path[..n].join("::")))
        .map(|(name, _)| name.as_str())
}

fn uses(modules: &Modules) -> Uses {
    let top = modules.get("lib").or(modules.get("main")).unwrap();
    let exports = exports(top);
    let mut uses = Uses::new();
    for (module, code) in modules.iter().filter(|(module, _)| !matches!(module.as_str(), "lib" | "main")) {
        let own = uses.entry(module.clone()).or_default();
        for (at, path) in mentions(code) {
            let parts: Vec<&str> = path.split("::").collect();
            let here: Vec<&str> = module.split("::").collect();
            let ups = parts.iter().take_while(|part| **part == "super").count();
            let full: Vec<&str> = match parts[0] {
                "crate" => parts[1..].to_vec(),
                "super" if ups <= here.len() => [&here[..here.len() - ups], &parts[ups..]].concat(),
                "self" => [&here[..], &parts[1..]].concat(),
                _ => [&here[..], &parts[..]].concat(),
            };
            let exported = exports.get(full[0]).map(|path| path.split("::").collect::<Vec<_>>());
            let target = module_of(&full, modules).or_else(|| module_of(&exported?, modules));
            // what stands in the root itself is used by nobody
            let target = target.unwrap_or("the root of the crate");
            if target != module {
                own.entry(target.to_owned()).or_insert(1 + code[..at].matches('\n').count());
            }
        }
    }
    uses
}

/// A circle of files, if there is one, each using the next, with the line that does.
fn circle(uses: &Uses) -> Option<Vec<String>> {
    fn visit(
        module: &str,
        uses: &Uses,
        path: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> Option<Vec<String>> {
        if let Some(at) = path.iter().position(|before| before == module) {
            let nexts = path.iter().skip(1).chain([&path[at]]).skip(at);
            let with_line = |(of, next): (&String, &String)| format!("{}:{}", file(of), uses[of][next]);
            return Some(path[at..].iter().zip(nexts).map(with_line).collect());
        }
        if done.contains(module) {
            return None;
        }
        path.push(module.to_owned());
        let mut nexts = uses.get(module).into_iter().flat_map(BTreeMap::keys);
        let found = nexts.find_map(|next| visit(next, uses, path, done));
        path.pop();
        done.insert(module.to_owned());
        found
    }
    let (mut path, mut done) = (Vec::new(), BTreeSet::new());
    uses.keys().find_map(|module| visit(module, uses, &mut path, &mut done))
}

fn file(module: &str) -> String {
    format!("{}.rs", module.replace("::", "/"))
}

fn room(module: &str) -> &str {
    module.split("::").next().unwrap_or_default()
}

/// The rows of the table of rooms: a crate's folder and its rooms, the lowest first.
fn table() -> Vec<(String, Vec<String>)> {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows = page.lines().skip_while(|line| !line.starts_with("| code | rooms")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|')).map(|line| line.split('`').skip(1).step_by(2));
    rows.map(|mut names| (names.next().unwrap().to_owned(), names.map(str::to_owned).collect())).collect()
}

#[test]
fn every_room_uses_only_rooms_below_it_and_no_files_use_one_another_in_a_circle() {
    let table = table();
    assert!(table.len() >= 10);
    let mut wrong = Vec::new();
    for (folder, rooms) in table {
        let mut modules = Modules::new();
        read(&root().join(&folder), "", &mut modules);
        let modules = declared(modules);
        let rank = |module: &str| rooms.iter().position(|known| known == room(module));
        let uses = uses(&modules);
        assert!(
            uses.values().map(BTreeMap::len).sum::<usize>() + rooms.len() >= modules.len(),
            "{folder}: hardly any uses"
        );
        for (module, used) in &uses {
            if rank(module).is_none() {
                wrong.push(format!("{folder}: {module} is in no room of the table"));
            }
            for (target, line) in used {
                let is_above = room(module) != room(target) && rank(module) < rank(target);
                if is_above || !modules.contains_key(target) {
                    wrong.push(format!("{folder}/{}:{line}: uses {target}", file(module)));
                }
            }
        }
        let is_empty = |name: &&String| !modules.contains_key(*name);
        wrong.extend(rooms.iter().filter(is_empty).map(|name| format!("{folder}: there is no room {name}")));
        wrong.extend(circle(&uses).map(|circle| format!("{folder}: a circle: {}", circle.join(" > "))));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn uses_are_found_wherever_they_stand() {
    let code = "mod child;\nuse crate::a::{b, c::{D, e}};\npub use child::X; // crate::no\n\
                #[cfg(test)]\nfn one() -> usize { crate::never::n() }\n#[cfg(test)]\nuse crate::never;\n\
                fn f() { (\"//\", super::g::h(), self::i::j()) }\n\
                #[cfg(test)]\nmod tests {\n    use crate::never;\n}\n";
    let mut found: Vec<_> = mentions(&without_tests(code)).into_iter().map(|(_, path)| path).collect();
    found.sort();
    assert_eq!(
        found,
        ["child::X", "crate::a::b", "crate::a::c::D", "crate::a::c::e", "self::i::j", "super::g::h"]
    );
    let modules = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, code)| ((*name).to_owned(), (*code).to_owned())).collect::<Modules>()
    };
    let found = uses(&modules(&[
        ("lib", "mod low;\nmod high;\npub use low::one::Thing;"),
        ("low", "mod one;\nmod two;"),
        ("low::one", "\nuse super::two::f;"),
        ("low::two", "fn f() {}"),
        ("high", "use crate::Thing;"),
    ]));
    assert_eq!(found["low::one"], BTreeMap::from([("low::two".to_owned(), 2)]));
    assert_eq!(found["high"], BTreeMap::from([("low::one".to_owned(), 1)]));
    assert_eq!(circle(&found), None);
    let circular = uses(&modules(&[("lib", ""), ("a", "use crate::b::x;"), ("b", "use crate::a::y;")]));
    assert_eq!(circle(&circular), Some(vec!["a.rs:1".to_owned(), "b.rs:1".to_owned()]));
}
