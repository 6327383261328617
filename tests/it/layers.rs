//! The layers of the client crate, as CONTRIBUTING.md lists them.

use std::collections::HashMap;
use std::fs;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

/// Modules that may import every layer, and that no layer imports.
const ABOVE_ALL_LAYERS: [&str; 3] = ["lib", "measure", "private"];

/// Imports of a higher layer: the file and the layer, each with its reason.
const EXCEPTIONS: [(&str, &str); 1] = [
    // The shortcut `MockTableService::client()`.
    ("mock/client.rs", "client"),
];

/// The highest layer that the mock may import.
const BELOW_THE_MOCK: &str = "auth";

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

fn sources() -> Vec<Source> {
    let root = repository().join("azure-table-client/src");
    let (mut folders, mut sources) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().unwrap() != "tests" {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
                let code = without_tests(&fs::read_to_string(&path).unwrap());
                let path = path.strip_prefix(&root).unwrap().to_str().unwrap();
                let path = path.replace(MAIN_SEPARATOR, "/");
                sources.push(Source { path, code });
            }
        }
    }
    assert!(sources.len() > 100, "{} files", sources.len());
    sources
}

/// Removes the comments, and the module of tests at the end.
fn without_tests(file: &str) -> String {
    let is_code = |line: &&str| !(line.starts_with("mod tests") && line.ends_with('{'));
    let code = file.lines().take_while(is_code).map(|line| line.split("//").next().unwrap());
    code.collect::<Vec<_>>().join("\n")
}

/// The layers from the lowest to the highest, from CONTRIBUTING.md.
fn layers() -> Vec<String> {
    let page = fs::read_to_string(repository().join("CONTRIBUTING.md")).unwrap();
    let (_, section) = page.split_once("## The layers\n").unwrap();
    let list = section.split("```").nth(1).unwrap().trim_start_matches("text");
    // Two spaces separate the modules of a line from their description.
    let modules = list.lines().filter_map(|line| line.split("  ").next());
    let names = modules.flat_map(|line| line.split(", ")).filter(|name| !name.is_empty());
    let names: Vec<_> = names.map(str::to_owned).collect();
    assert!(names.len() > 10, "{names:?}");
    names
}

/// The names that `lib.rs` exports, with their modules.
fn exports(sources: &[Source]) -> HashMap<&str, &str> {
    let lib = sources.iter().find(|source| source.path == "lib.rs").unwrap();
    let mut exports = HashMap::new();
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
        let end = path.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(path.len());
        assert!(end > 0, "{}: write one `use crate::module::…` for each module", source.path);
        let name = &path[..end];
        found.push(exports.get(name).copied().unwrap_or(name));
    }
    found
}

#[test]
fn no_layer_imports_a_higher_one() {
    let (sources, layers) = (sources(), layers());
    let exports = exports(&sources);
    let height = |module: &str| layers.iter().position(|layer| layer == module);
    let below_the_mock =
        height(BELOW_THE_MOCK).expect("the highest layer that the mock may import");
    let (mut faults, mut used) = (Vec::new(), Vec::new());
    for source in &sources {
        let (module, imports) = (source.module(), imports(source, &exports));
        let top = match (module, height(module)) {
            ("mock", _) => below_the_mock,
            (_, Some(height)) => height,
            (_, None) if imports.is_empty() => continue,
            (_, None) if ABOVE_ALL_LAYERS.contains(&module) => layers.len(),
            (_, None) => {
                faults.push(format!("{module} is not in the list of layers in CONTRIBUTING.md"));
                continue;
            }
        };
        for import in imports {
            let is_allowed = import == module || height(import).is_some_and(|it| it <= top);
            let exception = EXCEPTIONS.iter().position(|(file, _)| source.path == *file);
            match exception {
                _ if is_allowed => {}
                Some(exception) if height(import) <= height(EXCEPTIONS[exception].1) => {
                    used.push(exception);
                }
                _ => faults.push(format!("{} imports {import}, a higher layer", source.path)),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for (at, (file, layer)) in EXCEPTIONS.iter().enumerate() {
        assert!(used.contains(&at), "{file} no longer imports {layer}: remove the exception");
    }
}

#[test]
fn only_the_lower_layers_and_the_outcome_module_state_outcomes() {
    for source in sources() {
        let states = source.code.contains(".with_outcome(");
        assert!(!states || STATE_OUTCOMES.contains(&source.module()), "{}", source.path);
    }
}

#[test]
fn only_the_clock_uses_the_timers_of_tokio() {
    for source in sources() {
        let is_exempt =
            matches!(source.module(), "clock" | "mock") || source.path.ends_with("issuer.rs");
        // Docs in macros are strings, where the path is between backticks.
        let code = source.code.replace("`tokio::time", "");
        assert!(is_exempt || !code.contains("tokio::time"), "{}", source.path);
    }
}
