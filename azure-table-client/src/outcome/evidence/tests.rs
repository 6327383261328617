mod rows {
    use super::super::*;
    use crate::Dialect;
    use crate::IfMatch;
    use crate::entity::DynamicEntity;
    use crate::operation::Target;
    use crate::operation::entity::{self, Update, Write};
    use crate::operation::transaction::Batch;
    use crate::outcome::properties_of;
    use crate::wire::Protocol;

    fn blog(text: &str) -> DynamicEntity {
        let mut blog = DynamicEntity::new("it's 100%", "r,'RowKey='\u{e9}");
        blog.set("Text", text).set("Nan", f64::NAN);
        blog
    }

    #[test]
    fn writes_are_read_from_requests() {
        writes_are_read(Protocol::default());
        writes_are_read(Protocol::default().to(Dialect::CosmosDb).unwrap());
    }

    fn writes_are_read(protocol: Protocol) {
        let (blog, tag) = (blog("mine"), IfMatch::Tag(ETag::from("W/\"1\"")));
        let format = protocol.format();
        let stored = Found {
            etag: ETag::from("W/\"2\""),
            timestamp: None,
            properties: properties_of(&blog, Dialect::default()).unwrap().1,
        };
        let mut batch = Batch::new(Target::of_test(protocol));
        let mut expected = Vec::new();
        for (n, write) in [
            Write::Insert,
            Write::Update(Update::Merge, &tag),
            Write::Update(Update::Replace, &IfMatch::Any),
            Write::Upsert(Update::Merge),
        ]
        .into_iter()
        .enumerate()
        {
            let keys = entity::checked_keys(protocol, "Blogs", &blog).unwrap();
            let target = Target::of_test(protocol);
            let request = entity::write(&target, None, &blog, &keys, write).unwrap();
            let wrote = SentWrite::all_of(&request, format).unwrap().remove(0);
            assert_eq!(wrote.key(), blog.key());
            assert_eq!(wrote.compare(None, None, Some(&stored)), RowState::Matches, "{write:?}");
            assert_eq!(wrote.is_conditional(), n == 1);
            let row_key = format!("{}{n}", blog.key().row_key);
            let mut other = DynamicEntity::new(&*blog.key().partition_key, row_key);
            other.set("Text", n.to_string());
            batch.write(None, &other, write).unwrap();
            expected.push((other.key().clone(), format!("{:?}", wrote.wrote.effect)));
        }
        let delete = entity::delete(protocol, "Blogs", blog.key(), &tag).unwrap();
        let wrote = SentWrite::all_of(&delete, format).unwrap().remove(0);
        assert_eq!((wrote.key(), wrote.compare(None, None, None)), (blog.key(), RowState::Matches));
        batch.delete(blog.key(), &tag).unwrap();
        expected.push((blog.key().clone(), "Gone".to_owned()));
        let request = batch.finish().unwrap();
        let wrote = SentWrite::all_of(&request, format).unwrap();
        let wrote: Vec<_> =
            wrote.iter().map(|w| (w.key().clone(), format!("{:?}", w.wrote.effect))).collect();
        assert_eq!(wrote, expected);
        let read = entity::get(protocol, "Blogs", blog.key()).unwrap();
        assert!(read.writes.is_empty());
    }
}

mod rules {
    use super::super::*;
    use crate::edm::EdmValue;
    use crate::entity::DynamicEntity;
    use crate::operation::entity::{Update, Write};
    use crate::operation::transaction::Batch;
    use crate::operation::{Request, Target};
    use crate::outcome::Properties;
    use crate::wire::Protocol;
    use crate::{ETag, IfMatch};

    const ID: &str = "Id";

    fn properties(text: &str, id: Option<u128>) -> Properties {
        let id = id.map(|id| (ID.to_owned(), EdmValue::from(uuid::Uuid::from_u128(id))));
        [("Text".to_owned(), EdmValue::from(text))].into_iter().chain(id).collect()
    }

    fn found(etag: &str, text: &str, id: Option<u128>) -> Found {
        Found { etag: ETag::from(etag), timestamp: None, properties: properties(text, id) }
    }

    fn entity(row_key: &str, text: &str, id: Option<u128>) -> DynamicEntity {
        let mut entity = DynamicEntity::new("p", row_key);
        for (name, value) in properties(text, id) {
            entity.set(name, value);
        }
        entity
    }

    /// The writes of a transaction, in the rows `0`, `1` and so on.
    fn request(parts: &[(&str, Option<u128>)]) -> Request {
        let tag = IfMatch::Tag(ETag::from("W/\"1\""));
        let mut batch = Batch::new(Target::of_test(Protocol::default()));
        for (at, (kind, id)) in parts.iter().enumerate() {
            let row = entity(&at.to_string(), "mine", *id);
            let added = match *kind {
                "insert" => batch.write(None, &row, Write::Insert),
                "upsert" => batch.write(None, &row, Write::Upsert(Update::Merge)),
                "merge" => batch.write(None, &row, Write::Update(Update::Merge, &tag)),
                "replace" => batch.write(None, &row, Write::Update(Update::Replace, &tag)),
                "merge any" => batch.write(None, &row, Write::Update(Update::Merge, &IfMatch::Any)),
                "delete" => batch.delete(row.key(), &tag),
                other => panic!("{other}"),
            };
            added.unwrap();
        }
        batch.finish().unwrap()
    }

    fn writes(request: &Request) -> Vec<SentWrite<'_>> {
        SentWrite::all_of(request, Protocol::default().format()).unwrap()
    }

    fn rows(found: Vec<Option<Found>>) -> HashMap<EntityKey, Found> {
        let rows = found.into_iter().enumerate();
        rows.filter_map(|(at, row)| Some((EntityKey::new("p", at.to_string()), row?))).collect()
    }

    /// The evidence on a write with an open attempt.
    fn evidence<'e>(
        writes: &'e [SentWrite<'e>],
        rows: &'e HashMap<EntityKey, Found>,
    ) -> Evidence<'e> {
        Evidence {
            writes,
            rows,
            write_id: Some(ID),
            since: None,
            open: Some(OpenWrite::default()),
            is_expired: false,
        }
    }

    fn decide(parts: &[(&str, Option<u128>)], found: Vec<Option<Found>>, proof: Proof) -> Verdict {
        let (request, rows) = (request(parts), rows(found));
        let writes = writes(&request);
        judge(evidence(&writes, &rows), proof)
    }

    const MATCHES: Verdict = matches(false);
    const UNKNOWN: Verdict = Verdict::Unknown { matching_state: None };
    const BY_STATE: Verdict = Verdict::Applied(Confirmation::Comparison);
    const BY_ID: Verdict = Verdict::Applied(Confirmation::WriteId);

    const fn matches(lacks_write_id: bool) -> Verdict {
        Verdict::Unknown { matching_state: Some(MatchingState { lacks_write_id }) }
    }

    #[test]
    fn a_write_id_is_missed_where_it_would_decide() {
        let mine = || Some(found("W/\"2\"", "mine", None));
        for (parts, found, lacks_write_id) in [
            ([("merge", None), ("merge", None)], vec![mine(), mine()], true),
            ([("insert", None), ("delete", None)], vec![mine(), None], true),
            ([("delete", None), ("delete", None)], vec![None, None], false),
        ] {
            let (request, rows) = (request(&parts), rows(found));
            let writes = writes(&request);
            let evidence = Evidence { write_id: None, ..evidence(&writes, &rows) };
            assert_eq!(judge(evidence, Proof::WriteId), matches(lacks_write_id), "{parts:?}");
        }
    }

    #[test]
    fn single_writes() {
        let row = |etag, text| Some(found(etag, text, None));
        for (kind, row, default, strict, lenient) in [
            ("insert", row("W/\"2\"", "mine"), BY_STATE, MATCHES, BY_STATE),
            ("insert", row("W/\"2\"", "theirs"), UNKNOWN, UNKNOWN, UNKNOWN),
            ("insert", None, UNKNOWN, UNKNOWN, UNKNOWN),
            ("upsert", row("W/\"2\"", "mine"), BY_STATE, MATCHES, BY_STATE),
            ("merge any", row("W/\"2\"", "mine"), BY_STATE, MATCHES, BY_STATE),
            ("merge", row("W/\"2\"", "mine"), MATCHES, MATCHES, BY_STATE),
            ("replace", row("W/\"2\"", "mine"), MATCHES, MATCHES, BY_STATE),
            ("merge", row("W/\"1\"", "old"), UNKNOWN, UNKNOWN, UNKNOWN),
            ("merge", row("W/\"3\"", "theirs"), UNKNOWN, UNKNOWN, UNKNOWN),
            ("merge", None, UNKNOWN, UNKNOWN, UNKNOWN),
            ("delete", None, BY_STATE, MATCHES, BY_STATE),
            ("delete", row("W/\"1\"", "old"), UNKNOWN, UNKNOWN, UNKNOWN),
            ("delete", row("W/\"3\"", "theirs"), UNKNOWN, UNKNOWN, UNKNOWN),
        ] {
            let what = format!("{kind}: {row:?}");
            for (proof, expected) in [
                (Proof::MatchingState, default),
                (Proof::WriteId, strict),
                (Proof::MatchingUpdate, lenient),
            ] {
                let row = row.as_ref().map(|row| Found {
                    etag: row.etag.clone(),
                    timestamp: None,
                    properties: row.properties.clone(),
                });
                assert_eq!(decide(&[(kind, None)], vec![row], proof), expected, "{what} {proof:?}");
            }
        }
    }

    #[test]
    fn a_write_id_outranks_everything() {
        let id = Some(1);
        for kind in ["insert", "upsert", "merge", "replace"] {
            for proof in [Proof::WriteId, Proof::MatchingState, Proof::MatchingUpdate] {
                let of = |row| decide(&[(kind, id)], vec![Some(row)], proof);
                assert_eq!(of(found("W/\"2\"", "merged into", id)), BY_ID, "{kind}");
                assert_eq!(of(found("W/\"2\"", "mine", Some(2))), UNKNOWN, "{kind}");
                assert_eq!(of(found("W/\"2\"", "mine", None)), UNKNOWN, "{kind}");
            }
        }
    }

    #[test]
    fn one_member_proves_its_transaction() {
        let of = |parts: &[_], found| decide(parts, found, Proof::default());
        let theirs = || Some(found("W/\"9\"", "theirs", Some(9)));
        let mine = |id| Some(found("W/\"2\"", "mine", id));
        let both = [("insert", Some(1)), ("merge", Some(2))];
        assert_eq!(of(&both, vec![mine(Some(1)), theirs()]), BY_ID);
        assert_eq!(of(&both, vec![theirs(), theirs()]), UNKNOWN);
        let deletes = [("delete", None), ("delete", None)];
        assert_eq!(of(&deletes, vec![None, None]), BY_STATE, "by comparison only");
        assert_eq!(of(&deletes, vec![None, theirs()]), UNKNOWN);
        let inserts = [("insert", None), ("upsert", None)];
        assert_eq!(of(&inserts, vec![mine(None), mine(None)]), BY_STATE);
        assert_eq!(of(&inserts, vec![mine(None), None]), UNKNOWN);
        let mixed = [("insert", None), ("merge", None)];
        assert_eq!(of(&mixed, vec![mine(None), mine(None)]), MATCHES);
        let updates = [("merge", None), ("merge", None)];
        let old = || Some(found("W/\"1\"", "old", None));
        assert_eq!(of(&updates, vec![old(), old()]), UNKNOWN);
        // The rows may have been read before and after the transaction was applied.
        assert_eq!(of(&updates, vec![old(), theirs()]), UNKNOWN);
    }

    #[test]
    fn an_unchanged_row_proves_more_once_the_attempts_have_expired() {
        let request = request(&[("merge", None)]);
        let writes = writes(&request);
        let rows = rows(vec![Some(found("W/\"1\"", "old", None))]);
        let evidence = evidence(&writes, &rows);
        let of = |evidence| judge(evidence, Proof::default());
        assert_eq!(of(evidence), UNKNOWN);
        let fenced = OpenWrite { is_fenced: true, ..OpenWrite::default() };
        assert_eq!(of(Evidence { is_expired: true, ..evidence }), Verdict::NotApplied);
        assert_eq!(of(Evidence { open: Some(fenced), ..evidence }), Verdict::NotApplied);
        assert_eq!(of(Evidence { open: None, ..evidence }), Verdict::NotApplied);
    }
}
