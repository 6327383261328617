//! The structs that `azure-table schema --rust` prints read every row of their table, and write it unchanged.
//!
//! The test `printed_structs` of azure-table-cli compares the files in `schema` with the output of the program.

#![deny(warnings)]
#![allow(dead_code)]

use azure_table_client::{DynamicEntity, TableEntity};

#[path = "../../schema/chaos.rs"]
mod chaos;
#[path = "../../schema/cosmospython2020.rs"]
mod cosmospython2020;
#[path = "../../schema/cosmospython2021.rs"]
mod cosmospython2021;
#[path = "../../schema/diff.rs"]
mod diff;
#[path = "../../schema/go2021.rs"]
mod go2021;
#[path = "../../schema/go2022.rs"]
mod go2022;
#[path = "../../schema/js2022.rs"]
mod js2022;
#[path = "../../schema/keys.rs"]
mod keys;
#[path = "../../schema/kinds1.rs"]
mod kinds1;
#[path = "../../schema/kinds2.rs"]
mod kinds2;
#[path = "../../schema/kinds3.rs"]
mod kinds3;
#[path = "../../schema/mixed1.rs"]
mod mixed1;
#[path = "../../schema/mixed2.rs"]
mod mixed2;
#[path = "../../schema/mixed3.rs"]
mod mixed3;
#[path = "../../schema/names.rs"]
mod names;
#[path = "../../schema/python2017.rs"]
mod python2017;
#[path = "../../schema/python2020.rs"]
mod python2020;
#[path = "../../schema/python2021.rs"]
mod python2021;
#[path = "../../schema/timeline.rs"]
mod timeline;
#[path = "../../schema/wide.rs"]
mod wide;

/// Reads and writes each row.
fn round_trip<E: TableEntity>(rows: &str) {
    assert!(!rows.is_empty());
    for line in rows.lines() {
        let row = DynamicEntity::from_json(line).unwrap();
        let entity: E = row.to_entity().unwrap();
        let written = DynamicEntity::from_entity(&entity).unwrap();
        assert_eq!(written.key(), row.key());
        assert_eq!(sorted(&written), sorted(&row));
    }
}

fn sorted(row: &DynamicEntity) -> Vec<(&str, &azure_table_client::edm::EdmValue)> {
    let mut properties: Vec<_> = row.properties().collect();
    properties.sort_by_key(|(name, _)| *name);
    properties
}

fn main() {
    round_trip::<chaos::ChaosRow>(include_str!("../../schema/chaos.jsonl"));
    round_trip::<cosmospython2020::CosmosPython2020Row>(include_str!("../../schema/cosmospython2020.jsonl"));
    round_trip::<cosmospython2021::CosmosPython2021Row>(include_str!("../../schema/cosmospython2021.jsonl"));
    round_trip::<diff::DiffRow>(include_str!("../../schema/diff.jsonl"));
    round_trip::<go2021::Go2021Row>(include_str!("../../schema/go2021.jsonl"));
    round_trip::<go2022::Go2022Row>(include_str!("../../schema/go2022.jsonl"));
    round_trip::<js2022::Js2022Row>(include_str!("../../schema/js2022.jsonl"));
    round_trip::<keys::KeysRow>(include_str!("../../schema/keys.jsonl"));
    round_trip::<kinds1::Kinds1Row>(include_str!("../../schema/kinds1.jsonl"));
    round_trip::<kinds2::Kinds2Row>(include_str!("../../schema/kinds2.jsonl"));
    round_trip::<kinds3::Kinds3Row>(include_str!("../../schema/kinds3.jsonl"));
    round_trip::<mixed1::Mixed1Row>(include_str!("../../schema/mixed1.jsonl"));
    round_trip::<mixed2::Mixed2Row>(include_str!("../../schema/mixed2.jsonl"));
    round_trip::<mixed3::Mixed3Row>(include_str!("../../schema/mixed3.jsonl"));
    round_trip::<names::NamesRow>(include_str!("../../schema/names.jsonl"));
    round_trip::<python2017::Python2017Row>(include_str!("../../schema/python2017.jsonl"));
    round_trip::<python2020::Python2020Row>(include_str!("../../schema/python2020.jsonl"));
    round_trip::<python2021::Python2021Row>(include_str!("../../schema/python2021.jsonl"));
    round_trip::<timeline::TimelineRow>(include_str!("../../schema/timeline.jsonl"));
    round_trip::<wide::WideRow>(include_str!("../../schema/wide.jsonl"));
}
