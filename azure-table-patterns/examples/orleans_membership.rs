//! A membership table that Orleans silos can share: three silos join, and two of them declare the third one dead.
//!
//! Orleans needs reads of the whole table that never mix two versions of it (its provider did mix them until
//! [dotnet/orleans 10381](https://github.com/dotnet/orleans/pull/10381)). A
//! [versioned partition](azure_table_patterns::versioned_partition) gives that for rows of any form: here, for those
//! that the Azure Table provider of Orleans writes.
//!
//! `orleans_membership/table.rs` states what it assumes about proxies that deliver a request twice.
//!
//! `cargo run -p azure-table-patterns --example orleans_membership` runs it on the mock.

#![allow(missing_docs, clippy::print_stdout, reason = "an example")]

#[path = "orleans_membership/table.rs"]
mod table;

use azure_table_client::mock::MockTableService;
use chrono::Utc;
use table::{MembershipTable, Silo, Status};

const CLUSTER: &str = "production";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table = MockTableService::new().client().table_named::<Silo>("OrleansSiloInstances");
    table.create().await?;
    let membership = MembershipTable::new(&table, CLUSTER)?;
    membership.initialize().await?;

    for port in [11_111, 11_112, 11_113] {
        let silo = Silo::joining(CLUSTER, "10.0.0.1", port, 1, Utc::now());
        let now = membership.read_all().await?;
        assert!(membership.insert_row(&silo, &now.version).await?);
        let now = membership.read_row(&silo.row).await?;
        let mut silo = now.silo(&silo.row).ok_or("the silo is missing")?.clone();
        silo.status = Status::Active;
        assert!(membership.update_row(&silo, &now.version).await?);
        membership.update_i_am_alive(&silo, Utc::now()).await?;
    }

    // Two silos do not hear from the third one. The second suspicion declares it dead.
    for voter in 0..2 {
        let now = membership.read_all().await?;
        let mut silo = now.silos[2].clone();
        silo.suspect(&now.silos[voter], Utc::now());
        if silo.suspecting().len() == 2 {
            silo.status = Status::Dead;
        }
        assert!(membership.update_row(&silo, &now.version).await?);
        // A silo that read the table before this change cannot write any more.
        assert!(!membership.update_row(&silo, &now.version).await?);
    }

    let now = membership.read_all().await?;
    println!("version {}", now.version.membership_version);
    for silo in &now.silos {
        println!("{} is {:?}, suspected by {:?}", silo.row, silo.status, silo.suspecting());
    }
    assert_eq!(membership.cleanup_defunct(Utc::now() + chrono::TimeDelta::hours(1)).await?, 1);
    println!("after the cleanup: {} silos", membership.read_all().await?.silos.len());
    Ok(())
}
