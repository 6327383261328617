//! The questions of `sync`, at a pseudoterminal.

use azure_table_client::IfMatch;

use crate::pair::{Pair, row};
use crate::terminal::Terminal;

#[tokio::test]
async fn yes_does_not_answer_the_question_about_many_rows() {
    let pair = Pair::new();
    let rows: Vec<_> = (0..10).map(|n| row("a", &n.to_string())).collect();
    let [blogs, copy] = pair.copied(&rows).await;
    for n in ["1", "2"] {
        blogs.delete(("a", n), IfMatch::Any).await.unwrap();
    }
    let sync = ["sync", "Blogs", "Copy", "--delete", "--until-equal", "--every", "10ms"];
    let begin = "sync deletes the rows of Copy that Blogs does not have. Continue? [y/N] ";
    let many = "delete 2 of 10 rows of Copy? [y/N] ";
    for (options, questions, code, left) in [
        (&[][..], &[(begin, "n\n")][..], Some(2), 10),
        // The signal itself ends the command.
        (&[], &[(begin, "\u{3}")], None, 10),
        (&["--yes"], &[(many, "\n")], Some(2), 10),
        (&["--yes"], &[(many, "\u{3}")], Some(130), 10),
        (&[], &[(begin, "y\n"), (many, "y\n")], Some(0), 8),
    ] {
        let mut terminal = Terminal::open();
        let mut child = terminal.spawn(&pair.command(&[&sync[..], options].concat()));
        for (question, answer) in questions {
            terminal.wait_for(question);
            terminal.enter(answer);
        }
        assert_eq!(child.wait().unwrap().code(), code, "{options:?} {questions:?}");
        assert_eq!(copy.query().count().await.unwrap(), left);
    }
}
