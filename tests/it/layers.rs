//! The layers of the crates, as CONTRIBUTING.md lists them.

use std::collections::HashMap;
use std::fs;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

/// Modules that may import every layer, and that no layer imports.
const ABOVE_ALL_LAYERS: [&str; 3] = ["lib", "measure", "private"];

/// The modules that may state the outcome of an error.
const STATE_OUTCOMES: [&str; 4] = ["error", "operation", "outcome", "pipeline"];

struct Source {
    /// Below `src/`.
    path: String,
    /// The file without comments and tests.
    code: String,
}

impl Source {
    fn module(&self) -> &str {
        self.path.split('/').next().unwrap().trim_end_matches(".rs")
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources(of: &str) -> Vec<Source> {
    let root = repository().join(of).join("src");
    let (mut folders, mut sources) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if !path.to_str().unwrap().ends_with("tests") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|it| it == "rs")
                && !path.to_str().unwrap().ends_with("tests.rs")
            {
                let code = without_tests(&fs::read_to_string(&path).unwrap());
                let path = path.strip_prefix(&root).unwrap().to_str().unwrap();
                let path = path.replace(MAIN_SEPARATOR, "/");
                sources.push(Source { path, code });
            }
        }
    }
    assert!(sources.len() > 30, "{of}: {} files", sources.len());
    sources
}

/// Removes the comments, and the module of tests at the end.
fn without_tests(file: &str) -> String {
    let is_code = |line: &&str| !(line.starts_with("mod tests") && line.ends_with('{'));
    let code = file.lines().take_while(is_code).map(|line| line.split("//").next().unwrap());
    code.collect::<Vec<_>>().join("\n")
}

/// The crates from the lowest to the highest, each with its layers, from CONTRIBUTING.md.
fn crates() -> Vec<(String, Vec<String>)> {
    let page = fs::read_to_string(repository().join("CONTRIBUTING.md")).unwrap();
    let (_, section) = page.split_once("## The layers\n").unwrap();
    let list = section.split("```").nth(1).unwrap().trim_start_matches("text");
    let mut crates: Vec<(String, Vec<String>)> = Vec::new();
    for line in list.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("    ") {
            None => crates.push((line.to_owned(), Vec::new())),
            // Two spaces separate the modules of a line from their description.
            Some(line) => {
                let modules = line.split("  ").next().unwrap().split(", ");
                crates.last_mut().unwrap().1.extend(modules.map(str::to_owned));
            }
        }
    }
    assert!(
        crates.len() == 3 && crates.iter().map(|it| it.1.len()).sum::<usize>() > 20,
        "{crates:?}"
    );
    crates
}

/// Stands for the modules of a lower crate, which every module may import.
const LOWER_CRATE: &str = "(lower crate)";

/// The names that `lib.rs` exports or imports, with their modules.
fn exports(sources: &[Source]) -> HashMap<&str, &str> {
    let lib = sources.iter().find(|source| source.path == "lib.rs").unwrap();
    let mut exports = HashMap::new();
    for import in lib.code.split("use azure_table_protocol::").skip(1) {
        let names = import.split(';').next().unwrap();
        for name in names.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()) {
            exports.insert(name, LOWER_CRATE);
        }
    }
    for import in lib.code.split("pub use crate::").skip(1) {
        let (module, names) = import.split(';').next().unwrap().split_once("::").unwrap();
        for name in names.split(|c: char| !c.is_ascii_alphanumeric()).filter(|it| !it.is_empty()) {
            exports.insert(name, module);
        }
    }
    exports
}

/// The modules that a file imports, or names by a path from the root of the crate. A path from `$crate` belongs to the
/// caller of a macro.
fn imports<'s>(source: &'s Source, exports: &HashMap<&str, &'s str>) -> Vec<&'s str> {
    let mut found = Vec::new();
    let paths = source.code.split("crate::");
    for (before, path) in paths.clone().zip(paths.skip(1)) {
        if before.ends_with('$') {
            continue;
        }
        let names = match path.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap().split(',').map(str::trim).collect(),
            None => vec![path],
        };
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            let end = name.find(|c: char| c != '_' && !c.is_ascii_alphanumeric());
            let name = &name[..end.unwrap_or(name.len())];
            found.push(exports.get(name).copied().unwrap_or(name));
        }
    }
    found
}

#[test]
fn no_layer_imports_a_higher_one() {
    let mut faults = Vec::new();
    for (of, layers) in crates().into_iter().filter(|(_, layers)| !layers.is_empty()) {
        let sources = sources(&of);
        let exports = exports(&sources);
        let height = |module: &str| layers.iter().position(|layer| layer == module);
        for source in &sources {
            let (module, imports) = (source.module(), imports(source, &exports));
            let top = match (module, height(module)) {
                (_, Some(height)) => height,
                (_, None) if imports.is_empty() => continue,
                (_, None) if ABOVE_ALL_LAYERS.contains(&module) => layers.len(),
                (_, None) => {
                    faults.push(format!("{of}: {module} is not in the list of CONTRIBUTING.md"));
                    continue;
                }
            };
            for import in imports {
                let is_of_lower_crate = import == LOWER_CRATE;
                let is_lower = height(import).is_some_and(|it| it <= top);
                if import != module && !is_of_lower_crate && !is_lower {
                    faults.push(format!("{of}: {} imports {import}, a higher layer", source.path));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_crate_depends_on_a_higher_one() {
    let crates = crates();
    for (at, (of, _)) in crates.iter().enumerate() {
        let manifest = fs::read_to_string(repository().join(of).join("Cargo.toml")).unwrap();
        let (_, dependencies) = manifest.split_once("\n[dependencies]\n").unwrap();
        let dependencies = dependencies.split("\n[").next().unwrap();
        for (higher, _) in &crates[at..] {
            assert!(!dependencies.contains(higher.as_str()), "{of} depends on {higher}");
        }
    }
}

#[test]
fn only_the_lower_layers_and_the_outcome_module_state_outcomes() {
    for source in sources("azure-table-client") {
        let states = source.code.contains(".with_outcome(");
        assert!(!states || STATE_OUTCOMES.contains(&source.module()), "{}", source.path);
    }
}

#[test]
fn only_the_clock_uses_the_timers_of_tokio() {
    for source in ["azure-table-protocol", "azure-table-client"].into_iter().flat_map(sources) {
        let is_exempt =
            matches!(source.module(), "clock" | "mock") || source.path.ends_with("issuer.rs");
        // Docs in macros are strings, where the path is between backticks.
        let code = source.code.replace("`tokio::time", "");
        assert!(is_exempt || !code.contains("tokio::time"), "{}", source.path);
    }
}
