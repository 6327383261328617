//! Chaos with one seed sends the same requests in each process, so that a failure can be repeated.

use std::env;
use std::process::{Child, Command, Stdio};

use azure_table_tests::sized;

fn process() -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([sized("lease::chaos::", "chaos::"), "--nocapture", "--test-threads=1"]);
    let settings = [("LOG", "1"), ("SEED", "7"), ("SEEDS", "1"), ("OPERATIONS", "200")];
    command.envs(settings.map(|(name, value)| (format!("AZURE_TABLE_CHAOS_{name}"), value)));
    command.stdout(Stdio::piped()).spawn().unwrap()
}

#[test]
fn two_processes_send_the_same_requests() {
    let outputs = [process(), process()].map(|process| process.wait_with_output().unwrap());
    let logs = outputs.map(|output| {
        let text = String::from_utf8(output.stdout).unwrap();
        let logs =
            text.lines().filter_map(|line| line.find("log of ").map(|at| line[at..].to_owned()));
        logs.collect::<Vec<_>>()
    });
    assert!(logs[0].len() >= sized(1, 10), "{logs:?}");
    assert_eq!(logs[0], logs[1]);
}
