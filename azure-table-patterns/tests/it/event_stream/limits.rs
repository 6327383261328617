//! Invalid input, and the limits of appends, names and snapshots.

use super::*;

#[tokio::test]
async fn invalid_appends_are_refused_before_anything_is_sent() {
    let (mock, mut stream) = stream().await;
    let sent = mock.requests().total();
    for count in [0, MAX_EVENTS + 1] {
        let error = stream.append(Expected::Version(0), id(1), &vec![Deposited(1); count]).await;
        let error = error.unwrap_err();
        assert!(matches!(error, Error::InvalidInput { .. }), "{error:?}");
        assert!(error.to_string().contains("1 to 99"), "{error}");
        assert_eq!(error.outcome(), Outcome::NotApplied);
    }
    let table = mock.client().table_named::<DynamicEntity>(TABLE);
    let mut numbers = EventStream::<f64>::new(&table, STREAM).unwrap();
    let error = numbers.append(Expected::Version(0), id(1), &[f64::NAN]).await.unwrap_err();
    assert!(matches!(error, Error::InvalidInput { .. }), "{error:?}");
    for name in ["a/b", "a\\b", "a#b", "a?b", "a\tb", "a\u{7f}b"] {
        let error = EventStream::<Change>::new(&table, name).unwrap_err();
        let Error::Client { error } = error else { panic!("{error:?}") };
        assert_eq!((error.kind(), error.outcome()), (ErrorKind::InvalidInput, Outcome::NotApplied));
    }
    assert_eq!(mock.requests().total(), sent);
}

#[tokio::test]
async fn a_stream_may_have_any_valid_name() {
    let (mock, _) = stream().await;
    let table = mock.client().table_named::<DynamicEntity>(TABLE);
    for name in ["", "it's", "100 %", "Zoë & co", "head"] {
        let mut stream = EventStream::new(&table, name).unwrap();
        stream.append(Expected::Version(0), id(1), &[Deposited(1)]).await.unwrap();
        stream.append(Expected::Version(0), id(1), &[Deposited(1)]).await.unwrap();
        assert_eq!(amounts(&stream).await, [(1, 1)], "{name:?}");
    }
}

#[tokio::test]
async fn an_append_has_the_limits_of_a_transaction() {
    let (mock, _) = stream().await;
    let table = mock.client().table_named::<DynamicEntity>(TABLE);
    let mut texts = EventStream::<String>::new(&table, STREAM).unwrap();
    // The JSON of a text has two quotes; a property has 64 KiB of UTF-16.
    let largest = "x".repeat(32 * 1024 - 2);
    let is_invalid = |error: Error| {
        let Error::Client { error } = error else { panic!("{error:?}") };
        assert_eq!((error.kind(), error.outcome()), (ErrorKind::InvalidInput, Outcome::NotApplied));
    };
    let written = |mock: &MockTableService| mock.requests().count(Operation::Transaction);
    is_invalid(
        texts.append(Expected::Version(0), id(1), &[format!("{largest}x")]).await.unwrap_err(),
    );
    assert_eq!(written(&mock), 0);
    assert_eq!(
        texts.append(Expected::Version(0), id(1), std::slice::from_ref(&largest)).await.unwrap(),
        1..=1
    );
    // Three bytes a letter in UTF-8: 64 KiB of UTF-16 are 96 KiB of the 4 MiB.
    let wide = "€".repeat(32 * 1024 - 2);
    is_invalid(texts.append(Expected::Version(1), id(2), &vec![wide; 45]).await.unwrap_err());
    assert_eq!(written(&mock), 1);
    let many = vec!["y".to_owned(); MAX_EVENTS];
    assert_eq!(texts.append(Expected::Version(1), id(2), &many).await.unwrap(), 2..=100);
    assert_eq!(texts.append(Expected::Version(1), id(2), &many).await.unwrap(), 2..=100);
}

#[tokio::test]
async fn a_stream_ends_at_the_largest_int64() {
    let (mock, mut stream) = stream().await;
    let table = mock.client().table_named::<DynamicEntity>(TABLE);
    let last = i64::MAX - 1;
    let head = DynamicEntity::new(STREAM, "head").with("Version", last).with("Append", id(1));
    table.insert(&head).await.unwrap();
    let expected = Expected::Version(last.unsigned_abs());
    let error = stream.append(expected, id(2), &[Deposited(1), Deposited(2)]).await.unwrap_err();
    assert!(matches!(error, Error::InvalidInput { .. }), "{error:?}");
    let versions = stream.append(expected, id(2), &[Deposited(1)]).await.unwrap();
    assert_eq!(*versions.end(), i64::MAX.unsigned_abs());
    let full = Expected::Version(i64::MAX.unsigned_abs());
    let error = stream.append(full, id(3), &[Deposited(1)]).await.unwrap_err();
    assert!(matches!(error, Error::InvalidInput { .. }), "{error:?}");
    let beyond = Expected::Version(u64::MAX);
    let error = stream.append(beyond, id(4), &[Deposited(1)]).await.unwrap_err();
    assert!(matches!(error, Error::WrongVersion { .. }), "{error:?}");
    assert_eq!(read(&stream, last.unsigned_abs()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn invalid_snapshots_are_refused() {
    let (mock, mut stream) = stream().await;
    stream.append(Expected::Version(0), id(1), &[Deposited(1)]).await.unwrap();
    let mut invalid = stream.load(|_: &mut f64, _| {}).await.unwrap();
    invalid.state = f64::NAN;
    let error = stream.save_snapshot(&invalid).await.unwrap_err();
    assert!(matches!(error, Error::InvalidInput { .. }), "{error:?}");
    let mut large = stream.load(|_: &mut String, _| {}).await.unwrap();
    large.state = "x".repeat(32 * 1024);
    let error = stream.save_snapshot(&large).await.unwrap_err();
    assert!(
        matches!(&error, Error::Client { error: e } if e.kind() == ErrorKind::InvalidInput),
        "{error:?}"
    );
    assert!(mock.row(TABLE, STREAM, "snapshot").is_none());
    large.state = "{".to_owned();
    stream.save_snapshot(&large).await.unwrap();
    let error = stream.load(|_: &mut i64, _| {}).await.unwrap_err();
    assert!(
        matches!(&error, Error::InvalidRow { key, .. } if key.row_key == "snapshot"),
        "{error:?}"
    );
}

/// Its version would hide events of this stream, and its state would count as theirs.
#[tokio::test]
async fn a_state_of_another_stream_is_refused_as_a_snapshot() {
    let (mock, mut stream) = stream().await;
    stream.append(Expected::Version(0), id(1), &[Deposited(1), Deposited(2)]).await.unwrap();
    let loaded = stream.load(|_: &mut i64, _| {}).await.unwrap();
    let table = mock.client().table_named::<DynamicEntity>(TABLE);
    let other = EventStream::<Change>::new(&table, "account-2").unwrap();
    let sent = mock.requests().total();
    let error = other.save_snapshot(&loaded).await.unwrap_err();
    assert!(matches!(error, Error::InvalidInput { .. }), "{error:?}");
    assert!(error.to_string().contains("account-2"), "{error}");
    assert_eq!(mock.requests().total(), sent);
}
