//! The sources and dependencies of the runner.

/// A fault of the client could hide a fault of a server.
#[test]
fn neither_the_client_nor_its_protocol_is_used() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![];
    let mut folders = vec![source.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                // They are about the client.
                true if ["client", "live"].map(|name| source.join(name)).contains(&path) => {}
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    assert!(files.len() > 15, "{files:?}");
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        for name in ["client", "protocol", "mock"] {
            let import = format!("azure_table_{name}");
            assert!(!text.contains(&import), "{} uses {import}", path.display());
        }
        let client = ["crate", "client"].join("::");
        assert!(!text.contains(&client), "{} uses {client}", path.display());
    }
}

/// The program without features has no crate of this workspace.
#[test]
fn no_crate_of_the_workspace_is_a_dependency_unless_a_feature_names_it() {
    let text = include_str!("../../../Cargo.toml");
    let (_, text) = text.split_once("\n[dependencies]\n").unwrap();
    let text = text.split("\n[").next().unwrap();
    let own: Vec<_> = text.lines().filter(|line| line.contains("azure-table")).collect();
    assert!(!own.is_empty() && own.iter().all(|line| line.contains("optional = true")), "{own:?}");
}
