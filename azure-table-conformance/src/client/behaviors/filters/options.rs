//! Filters on properties that some rows lack.

use azure_table_client::edm::EdmDateTime;
use azure_table_client::{TableEntity, filter};
use uuid::Uuid;

use super::{Address, Case, Status, cases, check};
use crate::client::target::Target;

/// A row that always has its keys only.
#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Sparse {
    #[table(partition_key)]
    p: String,
    #[table(row_key)]
    n: u8,
    number: Option<i32>,
    long: Option<i64>,
    real: Option<f64>,
    text: Option<String>,
    at: Option<EdmDateTime>,
    yes: Option<bool>,
    uid: Option<Uuid>,
    data: Option<Vec<u8>>,
    status: Option<Status>,
    #[table(flatten = "Home_")]
    home: Option<Address>,
    #[table(series)]
    load: [Option<i32>; 2],
}

fn rows() -> Vec<Sparse> {
    let row = |n: u8| {
        let i = i32::from(n);
        let some = !n.is_multiple_of(3);
        Sparse {
            p: "p".into(),
            n,
            number: some.then_some(i - 4),
            long: some.then_some(i64::from(i) << 40),
            real: some.then_some(f64::from(i)),
            text: some.then(|| "x".repeat(usize::from(n) % 4)),
            at: some.then(|| format!("2009-04-{:02}T10:00:00Z", n + 1).parse().unwrap()),
            yes: some.then_some(n.is_multiple_of(2)),
            uid: some.then(|| Uuid::from_u128(u128::from(n))),
            data: some.then(|| vec![n]),
            status: some.then_some(if n < 5 { Status::Draft } else { Status::Live }),
            home: some.then(|| Address { city: format!("c{}", n % 2), zip: (n > 4).then_some(i) }),
            load: [some.then_some(i), (n > 6).then_some(-i)],
        }
    };
    (0..10).map(row).collect()
}

fn on_numbers() -> Vec<Case<Sparse>> {
    let limit = 1;
    cases! { Sparse:
        |b| b.number.eq(1), filter!(Sparse, b => b.number == 1), "number eq 1", |r| r.number == Some(1);
        |b| b.number.gt(&limit), filter!(Sparse, b => b.number > &limit), "number gt 1", |r| r.number > Some(1);
        |b| b.number.ne(1), filter!(Sparse, b => b.number != 1), "number ne 1", |r| r.number.is_some_and(|v| v != 1);
        |b| !b.number.eq(1), filter!(Sparse, b => !(b.number == 1)), "not (number eq 1)", |r| r.number != Some(1);
        |b| !b.number.ne(1), filter!(Sparse, b => !(b.number != 1)), "not (number ne 1)", |r| r.number.is_none_or(|v| v == 1);
        |b| b.number.eq(1) | b.number.ne(1), filter!(Sparse, b => b.number == 1 || b.number != 1), "number eq 1 or number ne 1", |r| r.number.is_some();
        |b| !(b.number.eq(1) | b.number.ne(1)), filter!(Sparse, b => !(b.number == 1 || b.number != 1)), "not (number eq 1 or number ne 1)", |r| r.number.is_none();
        |b| b.number.lt(0), filter!(Sparse, b => 0 > b.number), "number lt 0", |r| r.number.is_some_and(|v| v < 0);
        |b| b.number.le(0), filter!(Sparse, b => b.number <= 0), "number le 0", |r| r.number.is_some_and(|v| v <= 0);
        |b| !b.number.ge(0), filter!(Sparse, b => !(b.number >= 0)), "not (number ge 0)", |r| r.number.is_none_or(|v| v < 0);
        |b| !b.number.lt(0) & !b.number.ge(0), filter!(Sparse, b => !(b.number < 0) && !(b.number >= 0)), "not (number lt 0) and not (number ge 0)", |r| r.number.is_none();
        |b| !b.number.between(-2, 2), filter!(Sparse, b => !b.number.between(-2, 2)), "not (number ge -2 and number le 2)", |r| r.number.is_none_or(|v| !(-2..=2).contains(&v));
        |b| b.number.is_in([1, 3]), filter!(Sparse, b => b.number in [1, 3]), "number eq 1 or number eq 3", |r| r.number == Some(1) || r.number == Some(3);
        |b| !b.number.is_in(vec![&limit, &3]), filter!(Sparse, b => !b.number in vec![&limit, &3]), "not (number eq 1 or number eq 3)", |r| r.number != Some(1) && r.number != Some(3);
        |b| b.long.gt(4 << 40), filter!(Sparse, b => b.long > 4 << 40), "long gt 4398046511104L", |r| r.long > Some(4 << 40);
        |b| b.long.ne(1 << 40), filter!(Sparse, b => b.long != 1 << 40), "long ne 1099511627776L", |r| r.long.is_some_and(|v| v != 1 << 40);
        |b| b.real.lt(4.5), filter!(Sparse, b => b.real < 4.5), "real lt 4.5", |r| r.real.is_some_and(|v| v < 4.5);
        |b| !b.real.ne(4.0), filter!(Sparse, b => !(b.real != 4.0)), "not (real ne 4.0)", |r| r.n.is_multiple_of(3) || r.n == 4;
        |b| b.load.at(0).ne(4), filter!(Sparse, b => b.load.at(0) != 4), "load00 ne 4", |r| r.load[0].is_some_and(|v| v != 4);
        |b| !b.load.at(1).lt(-7), filter!(Sparse, b => !(b.load.at(1) < -7)), "not (load01 lt -7)", |r| r.load[1].is_none_or(|v| v >= -7);
    }
}

fn on_other_types() -> Vec<Case<Sparse>> {
    let day: EdmDateTime = "2009-04-06T10:00:00Z".parse().unwrap();
    let (id, xx) = (Uuid::from_u128(4), String::from("xx"));
    cases! { Sparse:
        |b| b.text.eq(&xx), filter!(Sparse, b => b.text == &xx), "text eq 'xx'", |r| r.text.as_deref() == Some("xx");
        |b| b.text.ne(""), filter!(Sparse, b => b.text != ""), "text ne ''", |r| r.text.as_ref().is_some_and(|v| !v.is_empty());
        |b| b.text.starts_with("x"), filter!(Sparse, b => b.text.starts_with("x")), "text ge 'x' and text lt 'y'", |r| r.text.as_ref().is_some_and(|v| v.starts_with('x'));
        |b| !b.text.starts_with("xx"), filter!(Sparse, b => !b.text.starts_with("xx")), "not (text ge 'xx' and text lt 'xy')", |r| r.text.as_ref().is_none_or(|v| !v.starts_with("xx"));
        |b| b.at.lt(day), filter!(Sparse, b => b.at < day), "at lt datetime'2009-04-06T10:00:00.0000000Z'", |r| r.n < 5 && r.at.is_some();
        |b| !b.at.eq(day), filter!(Sparse, b => !(b.at == day)), "not (at eq datetime'2009-04-06T10:00:00.0000000Z')", |r| r.n != 5;
        |b| b.yes.ne(true), filter!(Sparse, b => b.yes != true), "yes ne true", |r| r.yes == Some(false);
        |b| !b.yes.eq(true), filter!(Sparse, b => !(b.yes == true)), "not (yes eq true)", |r| r.yes != Some(true);
        |b| b.uid.ne(id), filter!(Sparse, b => b.uid != id), "uid ne guid'00000000-0000-0000-0000-000000000004'", |r| r.uid.is_some() && r.n != 4;
        |b| b.data.ne(vec![4]), filter!(Sparse, b => b.data != vec![4]), "data ne X'04'", |r| r.data.is_some() && r.n != 4;
        |b| !b.data.eq(vec![4]), filter!(Sparse, b => !(b.data == vec![4])), "not (data eq X'04')", |r| r.n != 4;
        |b| b.status.eq(Status::Draft), filter!(Sparse, b => Status::Draft == b.status), "status eq 'draft'", |r| r.status == Some(Status::Draft);
        |b| b.status.ne(Status::Draft), filter!(Sparse, b => b.status != Status::Draft), "status ne 'draft'", |r| r.status == Some(Status::Live);
        |b| !b.status.is_in([Status::Draft]), filter!(Sparse, b => !b.status in [Status::Draft]), "not (status eq 'draft')", |r| r.status != Some(Status::Draft);
        |b| b.home.city.ne("c1"), filter!(Sparse, b => b.home.city != "c1"), "Home_city ne 'c1'", |r| r.home.as_ref().is_some_and(|home| home.city != "c1");
        |b| b.home.city.eq("c1") & !b.home.zip.gt(5), filter!(Sparse, b => b.home.city == "c1" && !(b.home.zip > 5)), "Home_city eq 'c1' and not (Home_zip gt 5)", |r| r.home.as_ref().is_some_and(|home| home.city == "c1" && home.zip.is_none_or(|zip| zip <= 5));
    }
}

/// A row without the property matches no comparison, and so the negation of each.
pub(crate) async fn filters_on_optional_properties(target: &Target) {
    let mut cases = on_numbers();
    cases.extend(on_other_types());
    check(target, "optional properties", &rows(), cases).await.delete_table().await.unwrap();
}
