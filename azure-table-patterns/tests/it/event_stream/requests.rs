//! The number of requests of each call, as the page of the pattern states it.

use super::*;

/// Returns the requests of `call`.
async fn sent<T>(mock: &MockTableService, call: impl Future<Output = Result<T, Error>>) -> usize {
    mock.requests().clear();
    call.await.unwrap();
    mock.requests().total()
}

#[tokio::test(start_paused = true)]
async fn each_call_sends_the_documented_number_of_requests() {
    let (mock, mut stream) = stream().await;
    let one = [Deposited(1)];
    let fresh = || stream.clone();
    let (mut second, mut third) = (fresh(), fresh());
    // The first append of a value reads the head row; the next ones know the end of the stream.
    assert_eq!(sent(&mock, stream.append(Expected::Version(0), id(1), &one)).await, 2);
    assert_eq!(sent(&mock, stream.append(Expected::Version(1), id(2), &one)).await, 1);
    assert_eq!(sent(&mock, stream.append(Expected::AtLeast(2), id(3), &one)).await, 1);
    // The search for the id after an older version, and a repetition.
    assert_eq!(sent(&mock, second.append(Expected::AtLeast(1), id(4), &one)).await, 3);
    assert_eq!(sent(&mock, third.append(Expected::AtLeast(1), id(4), &one)).await, 2);
    assert_eq!(sent(&mock, third.append(Expected::Version(0), id(1), &one)).await, 2);
    // Another append came first: it is refused, and reads the head row and the events since.
    assert_eq!(sent(&mock, stream.append(Expected::AtLeast(3), id(5), &one)).await, 4);
    let conflict = async {
        let error = second.append(Expected::Version(4), id(6), &one).await.unwrap_err();
        assert!(matches!(error, Error::WrongVersion { .. }));
        Ok(())
    };
    assert_eq!(sent(&mock, conflict).await, 3);
    mock.faults().add(Fault::error(403, "AccountIsDisabled").on(Operation::Transaction).times(1));
    let refused = async {
        let error = stream.append(Expected::AtLeast(5), id(6), &one).await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::NotApplied);
        Ok(())
    };
    assert_eq!(sent(&mock, refused).await, 2);
    for (expected, requests) in [(4, 2), (99, 1)] {
        let table = mock.client().table_named::<DynamicEntity>(TABLE);
        let mut fresh = EventStream::new(&table, STREAM).unwrap();
        let conflict = async {
            let error = fresh.append(Expected::Version(expected), id(7), &one).await.unwrap_err();
            assert!(matches!(error, Error::WrongVersion { .. }));
            Ok(())
        };
        assert_eq!(sent(&mock, conflict).await, requests);
    }
    assert_eq!(sent(&mock, stream.version()).await, 1);
    assert_eq!(sent(&mock, read(&stream, 0)).await, 1);
    assert_eq!(sent(&mock, stream.load(|_: &mut i64, _| {})).await, 2);
    let loaded = stream.load(|_: &mut i64, _| {}).await.unwrap();
    assert_eq!(sent(&mock, stream.save_snapshot(&loaded)).await, 2);
    assert_eq!(sent(&mock, stream.save_snapshot(&loaded)).await, 1);
    assert_eq!(sent(&mock, stream.load(|_: &mut i64, _| {})).await, 2);
}

#[tokio::test]
async fn a_page_has_up_to_a_thousand_events() {
    let (mock, mut stream) = stream().await;
    for append in 0..11 {
        stream
            .append(Expected::AtLeast(append * 99), id(append.into()), &vec![Deposited(1); 99])
            .await
            .unwrap();
    }
    assert_eq!(sent(&mock, read(&stream, 0)).await, 2);
    assert_eq!(sent(&mock, read(&stream, 89)).await, 1);
    // The value knows the end of the stream; the append is on the second page after version 0.
    let mut repeated = stream.clone();
    let events = vec![Deposited(1); 99];
    assert_eq!(sent(&mock, repeated.append(Expected::AtLeast(0), id(10), &events)).await, 2);
}
