//! The table of decisions.

use super::*;

const P: &str = "primary";
const S: &str = "secondary";

#[tokio::test(start_paused = true)]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn every_decision() {
    use Call::{Delete, Get, Insert};
    use End::{Done, Failed, ReadAt, Refused};
    use Location::{Primary, Secondary};
    use LocationMode::{PrimaryOnly, PrimaryThenSecondary, SecondaryOnly, SecondaryThenPrimary};
    use Outcome::{NotApplied, Unknown};
    let each = |n| RetryPolicy::fixed(n, Duration::from_secs(10));
    let own = RetryPolicy::own(|failed| {
        let again = failed.status == Some(503) && failed.number < 3;
        again.then(|| Duration::from_secs(u64::from(failed.number) * 7))
    });
    for (what, mode, policy, sends, meets, at, end) in [
        ("all is well", PrimaryOnly, each(3), Get, vec![], vec![(0, P)], ReadAt(Primary)),
        ("busy", PrimaryOnly, each(3), Insert, vec![BUSY], vec![(0, P), (10, P)], Done),
        (
            "busy to the end",
            PrimaryOnly,
            each(2),
            Insert,
            vec![BUSY; 9],
            vec![(0, P), (10, P), (20, P)],
            Refused(503, NotApplied),
        ),
        (
            "a Retry-After in seconds",
            PrimaryOnly,
            each(3),
            Insert,
            vec![Answer(503, "ServerBusy", ("retry-after", "25"))],
            vec![(0, P), (25, P)],
            Done,
        ),
        (
            "a Retry-After date",
            PrimaryOnly,
            each(3),
            Insert,
            vec![Answer(429, "Busy", ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"))],
            vec![(0, P), (30, P)],
            Done,
        ),
        (
            "no connection: the first time at once",
            PrimaryOnly,
            each(3),
            Insert,
            vec![UNREACHABLE, UNREACHABLE],
            vec![(0, P), (0, P), (10, P)],
            Done,
        ),
        (
            "no connection after another failure",
            PrimaryOnly,
            each(3),
            Insert,
            vec![BUSY, UNREACHABLE],
            vec![(0, P), (10, P), (20, P)],
            Done,
        ),
        (
            "a connection that breaks",
            PrimaryOnly,
            each(3),
            Insert,
            vec![LOST],
            vec![(0, P), (10, P)],
            Done,
        ),
        (
            "a connection that breaks under a read: the first time at once",
            PrimaryOnly,
            each(3),
            Get,
            vec![LOST, LOST],
            vec![(0, P), (0, P), (10, P)],
            ReadAt(Primary),
        ),
        (
            "a connection that breaks, and then a refusal",
            PrimaryOnly,
            each(3),
            Insert,
            vec![LOST, Answer(409, "EntityAlreadyExists", NO)],
            vec![(0, P), (10, P)],
            Refused(409, Unknown),
        ),
        (
            "no answer",
            PrimaryOnly,
            each(1),
            Delete,
            vec![Hangs; 9],
            vec![(0, P), (40, P)],
            Failed(ErrorKind::Timeout, Unknown),
        ),
        (
            "no policy",
            PrimaryOnly,
            RetryPolicy::none(),
            Get,
            vec![BUSY],
            vec![(0, P)],
            Refused(503, NotApplied),
        ),
        (
            "a policy of one's own",
            PrimaryOnly,
            own.clone(),
            Insert,
            vec![BUSY; 9],
            vec![(0, P), (7, P), (21, P)],
            Refused(503, NotApplied),
        ),
        (
            "a policy of one's own that does not want this",
            PrimaryOnly,
            own,
            Insert,
            vec![Answer(500, "InternalError", NO)],
            vec![(0, P)],
            Refused(500, Unknown),
        ),
        (
            "a signature that is refused",
            PrimaryOnly,
            each(3),
            Get,
            vec![Answer(403, "AuthenticationFailed", NO)],
            vec![(0, P)],
            Refused(403, NotApplied),
        ),
        (
            "a clock that is off: once, by the service's date",
            PrimaryOnly,
            each(0),
            Get,
            vec![Answer(403, "AuthenticationFailed", ("date", "Sun, 06 Nov 1994 12:00:00 GMT"))],
            vec![(0, P), (0, P)],
            ReadAt(Primary),
        ),
        (
            "a clock that is off, and refused again",
            PrimaryOnly,
            each(3),
            Get,
            vec![Answer(403, "AuthenticationFailed", ("date", "Sun, 06 Nov 1994 12:00:00 GMT")); 2],
            vec![(0, P), (0, P)],
            Refused(403, NotApplied),
        ),
        (
            "a clock that is right",
            PrimaryOnly,
            each(3),
            Get,
            vec![Answer(403, "AuthenticationFailed", ("date", "Sun, 06 Nov 1994 08:49:37 GMT"))],
            vec![(0, P)],
            Refused(403, NotApplied),
        ),
        (
            "the primary, then the secondary at once",
            PrimaryThenSecondary,
            each(3),
            Get,
            vec![BUSY],
            vec![(0, P), (0, S)],
            ReadAt(Secondary),
        ),
        (
            "each place with its own waits",
            PrimaryThenSecondary,
            each(4),
            Get,
            vec![BUSY, Late(4, 503), BUSY, BUSY],
            vec![(0, P), (0, S), (10, P), (14, S), (20, P)],
            ReadAt(Primary),
        ),
        (
            "the one whose wait ends first",
            PrimaryThenSecondary,
            each(4),
            Get,
            vec![Answer(503, "ServerBusy", ("retry-after", "3600")), BUSY, BUSY],
            vec![(0, P), (0, S), (10, S), (20, S)],
            ReadAt(Secondary),
        ),
        (
            "writes go to the primary",
            PrimaryThenSecondary,
            each(3),
            Insert,
            vec![BUSY, BUSY],
            vec![(0, P), (10, P), (20, P)],
            Done,
        ),
        (
            "a row that the secondary lacks yet",
            SecondaryThenPrimary,
            each(0),
            Get,
            vec![MISSING],
            vec![(0, S), (0, P)],
            ReadAt(Primary),
        ),
        (
            "what neither has",
            SecondaryThenPrimary,
            each(3),
            Get,
            vec![MISSING, BUSY, MISSING],
            vec![(0, S), (0, P), (10, P)],
            Refused(404, NotApplied),
        ),
        (
            "a row that the primary lacks",
            PrimaryThenSecondary,
            each(3),
            Get,
            vec![MISSING],
            vec![(0, P)],
            Refused(404, NotApplied),
        ),
        (
            "busy at the primary, and missing at the secondary",
            PrimaryThenSecondary,
            each(3),
            Get,
            vec![BUSY, MISSING],
            vec![(0, P), (0, S), (0, P)],
            ReadAt(Primary),
        ),
        (
            "the secondary, then the primary",
            SecondaryThenPrimary,
            each(3),
            Get,
            vec![LOST],
            vec![(0, S), (0, P)],
            ReadAt(Primary),
        ),
        (
            "the secondary only",
            SecondaryOnly,
            each(1),
            Get,
            vec![BUSY, MISSING],
            vec![(0, S), (10, S)],
            Refused(404, NotApplied),
        ),
        (
            "no write at the secondary",
            SecondaryOnly,
            each(3),
            Insert,
            vec![],
            vec![],
            Failed(ErrorKind::InvalidInput, NotApplied),
        ),
    ] {
        let script = script(&meets);
        let table = builder(&script).locations(mode).retry(policy).build().unwrap();
        let result = call(&table.table_named("Blogs"), sends).await;
        assert_eq!(result, end, "{what}");
        let method = match sends {
            Get => "GET",
            Insert => "POST",
            Delete => "DELETE",
        };
        let expected: Vec<_> =
            at.into_iter().map(|(at, place)| (at, format!("{method} {place}"))).collect();
        assert_eq!(sent(&script), expected, "{what}");
    }
}
