//! Transactions, and multipart bodies that are damaged.

use super::super::sent::{Damage, Odd, Payload, Resource, Row, Sent};
use super::{BAD_KEYS, Generator, KEYS, PARTITIONS};

/// Ways to write a batch that all services read alike.
const SPELLINGS: [Damage; 6] = [
    Damage { content_type: None, apply: |body| body.replace("\r\n", "\n") },
    Damage { content_type: None, apply: |body| format!("a preamble\r\n{body}") },
    Damage { content_type: None, apply: |body| format!("{body}an epilogue\r\n") },
    Damage {
        content_type: None,
        apply: |body| body.replace("Content-Transfer-Encoding: binary\r\n", ""),
    },
    Damage { content_type: Some("multipart/mixed; boundary=\"batch_1\""), apply: str::to_owned },
    Damage { content_type: Some("Multipart/Mixed; Boundary=batch_1"), apply: str::to_owned },
];
const DAMAGES: [Damage; 14] = [
    Damage { content_type: Some("multipart/mixed"), apply: str::to_owned },
    Damage { content_type: Some("multipart/mixed; boundary=other"), apply: str::to_owned },
    Damage { content_type: Some("application/json"), apply: str::to_owned },
    Damage { content_type: None, apply: |_| String::new() },
    Damage { content_type: None, apply: |_| "no batch".into() },
    Damage { content_type: None, apply: |_| "--batch_1--\r\n".into() },
    Damage { content_type: None, apply: |body| body.replace("--batch_1--\r\n", "") },
    Damage { content_type: None, apply: |body| body.replace("; boundary=changeset_1", "") },
    Damage {
        content_type: None,
        apply: |body| body.replace("application/http", "application/json"),
    },
    Damage { content_type: None, apply: |body| body.replace(" HTTP/1.1", "") },
    Damage { content_type: None, apply: |body| body.replace("POST http", "POSThttp") },
    Damage { content_type: None, apply: |body| body.replace("POST http", "FETCH http") },
    Damage {
        content_type: None,
        apply: |body| body.replace("Content-Length: ", "Content-Length: 9"),
    },
    Damage { content_type: None, apply: |body| body.replace("--changeset_1--\r\n", "") },
];

impl Generator {
    /// A batch of one table: if a batch of two tables fails, Azurite leaves rows that no delete
    /// removes, and all later responses would differ.
    pub(super) fn batch(&mut self) -> Sent {
        if self.chance(8) {
            return self.damaged();
        }
        let mut sent = Sent::new("POST", Resource::Batch);
        let (table, partition) = (self.table(), self.pick(&PARTITIONS).to_owned());
        let count = match self.rng.u32(..20) {
            0 => 0,
            1..8 => 1,
            _ => self.rng.usize(2..6),
        };
        let mut parts: Vec<Sent> = Vec::new();
        for key in &KEYS[..count] {
            let mut part = if self.chance(50) { self.insert() } else { self.change() };
            if let Some(row) = &mut part.row {
                row.table.clone_from(&table);
                row.partition.clone_from(&partition);
                // Mostly different rows.
                if self.rng.u32(..10) > 0 {
                    (*key).clone_into(&mut row.key);
                }
                if self.rng.u32(..40) == 0 {
                    self.pick(&["p", "other"]).clone_into(&mut row.partition);
                }
                let row = row.clone();
                part.odd.clear();
                if BAD_KEYS.contains(&&*row.key) {
                    part.odd.push(Odd::Body);
                }
                if matches!(part.payload, Payload::Json(_) | Payload::Bytes(_)) {
                    part.payload = self.entity_in_batch(count, &row, &mut part.odd);
                } else if part.verb != "DELETE" {
                    part.odd.push(Odd::Body);
                }
                part.resource = match part.resource {
                    Resource::Row(_) => Resource::Row(row),
                    _ => Resource::Rows(row.table),
                };
            } else {
                part.resource = Resource::Rows(table.clone());
            }
            part.headers.retain(|(name, _)| *name == "prefer");
            part.odd.retain(|odd| matches!(odd, Odd::Body | Odd::Value | Odd::Doubtful));
            if part.verb == "POST" && matches!(part.resource, Resource::Row(_)) {
                part.verb = "MERGE";
            }
            parts.push(part);
        }
        sent.payload = match self.rng.u32(..20) {
            0 => Payload::Single(vec![self.get_in_batch()]),
            1 if !parts.is_empty() => {
                parts.push(self.get_in_batch());
                Payload::Changeset(parts)
            }
            2 => Payload::Single(vec![self.get_in_batch(), self.get_in_batch()]),
            _ => Payload::Changeset(parts),
        };
        sent
    }

    /// After a document that is not JSON, if other operations come before it, Azurite returns 500 for all later
    /// batches.
    fn entity_in_batch(&mut self, count: usize, row: &Row, odd: &mut Vec<Odd>) -> Payload {
        loop {
            let mut found = Vec::new();
            let payload = self.entity(Some(row), &mut found);
            if count == 1 || !matches!(payload, Payload::Bytes(_)) {
                odd.append(&mut found);
                return payload;
            }
        }
    }

    /// An insert in a batch whose text is changed.
    fn damaged(&mut self) -> Sent {
        let row = Row { partition: "damaged".into(), ..self.row() };
        let mut part = Sent::new("POST", Resource::Rows(row.table.clone()));
        part.payload = Payload::Json(format!(
            "{{\"PartitionKey\":\"damaged\",\"RowKey\":{}}}",
            serde_json::to_string(&row.key).unwrap()
        ));
        part.row = Some(row);
        let mut sent = Sent::new("POST", Resource::Batch);
        let damage = if self.chance(30) {
            &SPELLINGS[self.rng.usize(..SPELLINGS.len())]
        } else {
            sent.odd.push(Odd::Batch);
            &DAMAGES[self.rng.usize(..DAMAGES.len())]
        };
        sent.payload = Payload::Damaged(damage, vec![part]);
        sent
    }

    fn get_in_batch(&mut self) -> Sent {
        let row = self.row();
        Sent::new("GET", Resource::Row(row))
    }
}
