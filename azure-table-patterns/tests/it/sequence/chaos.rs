//! Several programs that reserve numbers: no number is returned twice.

use std::collections::HashMap;
use std::time::Duration;

use azure_table_client::DynamicEntity;
use azure_table_patterns::sequence::Sequence;
use azure_table_tests::chaos::{self, Report, Round};
use tokio::time::{sleep, timeout};

use super::{KEY, TABLE};

const PROGRAMS: u64 = 5;
const CALLS: usize = 40;

/// Reserves numbers, sometimes one by one, and sometimes drops a call.
async fn reserve(mut sequence: Sequence, mut chance: fastrand::Rng) -> (Report, Vec<i64>) {
    let (mut report, mut numbers) = (Report::default(), Vec::new());
    for _ in 0..CALLS {
        sleep(Duration::from_millis(chance.u64(..500))).await;
        report.operations += 1;
        // All blocks have one size, so that a row looks the same after each program.
        let (is_single, block) = (chance.u8(..4) == 0, 3);
        let call = async {
            if is_single {
                sequence.next().await.map(|number| number..number + 1)
            } else {
                sequence.block(block).await
            }
        };
        let limit = if chance.u8(..8) == 0 { chance.u64(..3_000) } else { 3_600_000 };
        match timeout(Duration::from_millis(limit), call).await {
            Ok(Ok(block)) => {
                report.count("reserved");
                numbers.extend(block);
            }
            Ok(Err(_)) => report.count("failed"),
            Err(_) => report.count("dropped"),
        }
    }
    (report, numbers)
}

async fn reserve_together(round: &mut Round) -> Report {
    let table = round.mock().client().table_named::<DynamicEntity>(TABLE);
    table.create().await.unwrap();
    round.start_faults();
    let programs = (0..PROGRAMS).map(|task| {
        let table = round.client(task).table_named::<DynamicEntity>(TABLE);
        let sequence = Sequence::new(&table, KEY).unwrap().block_size(3).unwrap();
        reserve(sequence, round.chance(task))
    });
    let results = round.run_programs(programs).await;
    let (mut report, mut owners) = (Report::default(), HashMap::new());
    for (program, (of_program, numbers)) in results.into_iter().enumerate() {
        report.add(of_program);
        let mut last = 0;
        for number in numbers {
            let other = owners.insert(number, program);
            report.check(other.is_none(), || format!("{number} of {program} and {other:?}"));
            last = last.max(number);
        }
    }
    let next = Sequence::new(&table, KEY).unwrap().block(1).await.unwrap().start;
    let highest = owners.keys().max().copied().unwrap_or(0);
    report.check(next > highest && !owners.contains_key(&0), || format!("{next} after {highest}"));
    report
}

#[tokio::test(start_paused = true)]
async fn no_number_is_returned_twice() {
    chaos::run("sequence", 400, reserve_together).await;
}
