//! Filters on keys of every type, and on keys of several parts.

use azure_table_client::edm::EdmDateTime;
use azure_table_client::entity::{Descending, Escaped, KeyPart};
use azure_table_client::{TableEntity, filter};
use chrono::NaiveDate;
use uuid::Uuid;

use super::values::Level;
use super::{Case, cases, check};
use crate::client::target::Target;

/// A day, and the time of the day in descending order.
#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Visit {
    #[table(partition_key)]
    day: NaiveDate,
    #[table(row_key)]
    at: Descending<EdmDateTime>,
    n: i32,
}

/// A choice, and an id.
#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Flag {
    #[table(partition_key)]
    set: bool,
    #[table(row_key)]
    id: Uuid,
}

/// A number with a sign, and text that is escaped in a key.
#[derive(Debug, Clone, PartialEq, TableEntity)]
struct File {
    #[table(partition_key)]
    level: Level,
    #[table(row_key)]
    path: Escaped,
}

/// Plain text, and a number with a sign in descending order.
#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Score {
    #[table(partition_key)]
    game: String,
    #[table(row_key)]
    points: Descending<i64>,
    level: i32,
}

/// Keys of several parts.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(partition_key = "{channel}_{year:inv4}", row_key(rating, id, page))]
struct Blog {
    channel: String,
    year: u16,
    rating: Descending<u8>,
    id: String,
    page: u16,
    text: String,
}

fn day(n: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(2009, 3 + n / 2, 30 - n).unwrap()
}

fn time(n: i64) -> EdmDateTime {
    EdmDateTime::from_ticks(EdmDateTime::MIN.ticks() + n).unwrap()
}

/// In the service's order: by PartitionKey, then RowKey.
fn sorted<E>(mut rows: Vec<E>, key: impl Fn(&E) -> (String, String)) -> Vec<E> {
    rows.sort_by_key(|row| {
        let (partition, row) = key(row);
        [partition, row].map(|key| key.encode_utf16().collect::<Vec<_>>())
    });
    rows
}

fn text(key: &impl KeyPart) -> String {
    key.to_key().unwrap().into_owned()
}

fn visits() -> Vec<Visit> {
    let mut visits = Vec::new();
    for n in 0..4 {
        for at in [EdmDateTime::MAX, time(2), time(1), EdmDateTime::MIN] {
            visits.push(Visit { day: day(n), at: Descending(at), n: n.cast_signed() });
        }
    }
    sorted(visits, |row| (text(&row.day), text(&row.at)))
}

fn on_days_and_times() -> Vec<Case<Visit>> {
    let (first, last, two) = (day(1), day(2), time(2));
    cases! { Visit:
        |b| b.day.eq(first), filter!(Visit, b => b.day == first), "PartitionKey eq '2009-03-29'", |r| r.day == day(1);
        |b| b.day.ne(&first), filter!(Visit, b => &first != b.day), "PartitionKey ne '2009-03-29'", |r| r.day != day(1);
        |b| b.day.lt(last), filter!(Visit, b => b.day < last), "PartitionKey lt '2009-04-28'", |r| r.day < day(2);
        |b| b.day.le(day(3)), filter!(Visit, b => day(3) >= b.day), "PartitionKey le '2009-04-27'", |r| r.day <= day(3);
        |b| b.day.gt(first), filter!(Visit, b => b.day > first), "PartitionKey gt '2009-03-29'", |r| r.day > day(1);
        |b| b.day.ge(day(0)), filter!(Visit, b => b.day >= day(0)), "PartitionKey ge '2009-03-30'", |r| r.day >= day(0);
        |b| b.day.starts_with("2009-04"), filter!(Visit, b => b.day.starts_with("2009-04")), "PartitionKey ge '2009-04' and PartitionKey lt '2009-05'", |r| r.n >= 2;
        |b| !b.day.between(day(1), day(3)), filter!(Visit, b => !b.day.between(day(1), day(3))), "not (PartitionKey ge '2009-03-29' and PartitionKey le '2009-04-27')", |r| !(day(1)..=day(3)).contains(&r.day);
        |b| b.at.eq(EdmDateTime::MAX), filter!(Visit, b => b.at == EdmDateTime::MAX), "RowKey eq '0000000000000000000'", |r| r.at.0 == EdmDateTime::MAX;
        |b| b.at.ne(Descending(EdmDateTime::MIN)), filter!(Visit, b => b.at != Descending(EdmDateTime::MIN)), "RowKey ne '2650467743999999999'", |r| r.at.0 != EdmDateTime::MIN;
        |b| b.at.newer_than(time(1)), filter!(Visit, b => b.at.newer_than(time(1))), "RowKey lt '2650467743999999998'", |r| r.at.0 > time(1);
        |b| !b.at.newer_than(&two), filter!(Visit, b => !b.at.newer_than(&two)), "not (RowKey lt '2650467743999999997')", |r| r.at.0 <= time(2);
        |b| b.at.older_than(two), filter!(Visit, b => b.at.older_than(two)), "RowKey gt '2650467743999999997'", |r| r.at.0 < time(2);
        |b| b.at.ge(Descending(two)), filter!(Visit, b => b.at >= Descending(two)), "RowKey ge '2650467743999999997'", |r| r.at.0 <= time(2);
        |b| b.at.newer_or_equal(two), filter!(Visit, b => Descending(two) >= b.at), "RowKey le '2650467743999999997'", |r| r.at.0 >= time(2);
        |b| b.day.is_in([day(0), day(3)]) & b.at.older_than(two) & b.n.ne(0), filter!(Visit, b => b.day in [day(0), day(3)] && b.at.older_than(two) && b.n != 0), "(PartitionKey eq '2009-03-30' or PartitionKey eq '2009-04-27') and RowKey gt '2650467743999999997' and n ne 0", |r| r.n == 3 && r.at.0 < time(2);
    }
}

const IDS: [u128; 4] = [0, 0xff, 0x8000 << 112, u128::MAX];

fn flags() -> Vec<Flag> {
    let of = |set| IDS.map(|id| Flag { set, id: Uuid::from_u128(id) });
    of(false).into_iter().chain(of(true)).collect()
}

fn on_choices_and_ids() -> Vec<Case<Flag>> {
    let id = Uuid::from_u128(0xff);
    cases! { Flag:
        |b| b.set.eq(true), filter!(Flag, b => b.set == true), "PartitionKey eq '1'", |r| r.set;
        |b| !b.set.ne(false), filter!(Flag, b => !(b.set != false)), "not (PartitionKey ne '0')", |r| !r.set;
        |b| b.set.gt(false), filter!(Flag, b => b.set > false), "PartitionKey gt '0'", |r| r.set;
        |b| b.set.le(false), filter!(Flag, b => b.set <= false), "PartitionKey le '0'", |r| !r.set;
        |b| b.set.lt(true) & b.id.ge(id), filter!(Flag, b => b.set < true && b.id >= id), "PartitionKey lt '1' and RowKey ge '00000000-0000-0000-0000-0000000000ff'", |r| !r.set && r.id != Uuid::nil();
        |b| b.id.eq(Uuid::max()), filter!(Flag, b => b.id == Uuid::max()), "RowKey eq 'ffffffff-ffff-ffff-ffff-ffffffffffff'", |r| r.id == Uuid::max();
        |b| b.id.ne(&id), filter!(Flag, b => b.id != &id), "RowKey ne '00000000-0000-0000-0000-0000000000ff'", |r| r.id.as_u128() != 0xff;
        |b| b.id.lt(Uuid::from_u128(1 << 127)), filter!(Flag, b => b.id < Uuid::from_u128(1 << 127)), "RowKey lt '80000000-0000-0000-0000-000000000000'", |r| r.id.as_u128() < 1 << 127;
        |b| b.id.le(id), filter!(Flag, b => b.id <= id), "RowKey le '00000000-0000-0000-0000-0000000000ff'", |r| r.id.as_u128() <= 0xff;
        |b| b.id.gt(id), filter!(Flag, b => id < b.id), "RowKey gt '00000000-0000-0000-0000-0000000000ff'", |r| r.id.as_u128() > 0xff;
        |b| b.id.starts_with("00000000-"), filter!(Flag, b => b.id.starts_with("00000000-")), "RowKey ge '00000000-' and RowKey lt '00000000.'", |r| r.id.as_u128() < 1 << 96;
        |b| !b.id.starts_with((id,)), filter!(Flag, b => !b.id.starts_with((id,))), "not (RowKey ge '00000000-0000-0000-0000-0000000000ff' and RowKey lt '00000000-0000-0000-0000-0000000000ff ')", |r| r.id.as_u128() != 0xff;
        |b| b.id.is_in(IDS[2..].iter().map(|id| Uuid::from_u128(*id))), filter!(Flag, b => b.id in IDS[2..].iter().map(|id| Uuid::from_u128(*id))), "RowKey eq '80000000-0000-0000-0000-000000000000' or RowKey eq 'ffffffff-ffff-ffff-ffff-ffffffffffff'", |r| r.id.as_u128() >= 1 << 127;
    }
}

fn files() -> Vec<File> {
    let paths =
        ["", "\n", " ", "#?", "'", "a", "a b", "a/b", "a\\", "ab", "~", "\u{1f600}", "\u{e000}"];
    let mut files = Vec::new();
    for level in [Level::Low, Level::Middle, Level::High] {
        files.extend(paths.map(|path| File { level, path: path.into() }));
    }
    files
}

fn on_choices_and_escaped_text() -> Vec<Case<File>> {
    let folder = Escaped::from("a/b");
    cases! { File:
        |b| b.level.eq(Level::Low), filter!(File, b => b.level == Level::Low), "PartitionKey eq '-2147483647'", |r| r.level == Level::Low;
        |b| b.level.ne(&Level::High), filter!(File, b => &Level::High != b.level), "PartitionKey ne '00000000005'", |r| r.level != Level::High;
        |b| b.level.lt(Level::Middle), filter!(File, b => b.level < Level::Middle), "PartitionKey lt '00000000001'", |r| r.level < Level::Middle;
        |b| b.level.le(Level::Middle), filter!(File, b => Level::Middle >= b.level), "PartitionKey le '00000000001'", |r| r.level <= Level::Middle;
        |b| b.level.gt(Level::Low), filter!(File, b => b.level > Level::Low), "PartitionKey gt '-2147483647'", |r| r.level > Level::Low;
        |b| b.level.ge(Level::High), filter!(File, b => b.level >= Level::High), "PartitionKey ge '00000000005'", |r| r.level >= Level::High;
        |b| b.level.is_in([Level::Low, Level::High]), filter!(File, b => b.level in [Level::Low, Level::High]), "PartitionKey eq '-2147483647' or PartitionKey eq '00000000005'", |r| r.level != Level::Middle;
        |b| b.path.eq("a/b"), filter!(File, b => b.path == "a/b"), "RowKey eq 'a.1b'", |r| r.path.0 == "a/b";
        |b| b.path.eq("'"), filter!(File, b => b.path == "'"), "RowKey eq ''''", |r| r.path.0 == "'";
        |b| b.path.ne("\n"), filter!(File, b => b.path != "\n"), "RowKey ne '\"A'", |r| r.path.0 != "\n";
        |b| b.path.lt(&folder), filter!(File, b => b.path < &folder), "RowKey lt 'a.1b'", |r| &*r.path.0 < "a/b";
        |b| b.path.le(folder.clone()), filter!(File, b => b.path <= folder.clone()), "RowKey le 'a.1b'", |r| &*r.path.0 <= "a/b";
        |b| b.path.gt("\u{1f600}"), filter!(File, b => b.path > "\u{1f600}"), "RowKey gt '\u{1f600}'", |r| r.path.0 == "\u{e000}";
        |b| b.path.ge("ab"), filter!(File, b => "ab" <= b.path), "RowKey ge 'ab'", |r| &*r.path.0 >= "ab";
        |b| b.path.between("#", "a b"), filter!(File, b => b.path.between("#", "a b")), "RowKey ge '\"Z' and RowKey le 'a\"Wb'", |r| &*r.path.0 >= "#" && &*r.path.0 <= "a b";
        |b| b.path.starts_with("a"), filter!(File, b => b.path.starts_with("a")), "RowKey ge 'a' and RowKey lt 'b'", |r| r.path.0.starts_with('a');
        |b| !b.path.starts_with(("a",)), filter!(File, b => !b.path.starts_with(("a",))), "not (RowKey ge 'a' and RowKey lt 'a ')", |r| r.path.0 != "a";
        |b| b.path.is_in(["", "#?", "a\\"]), filter!(File, b => b.path in ["", "#?", "a\\"]), "RowKey eq '' or RowKey eq '\"Z>1' or RowKey eq 'a[1'", |r| ["", "#?", "a\\"].contains(&&*r.path.0);
    }
}

fn scores() -> Vec<Score> {
    let mut scores = Vec::new();
    for game in ["", "it's", "100%", "a+b & c", "a\u{1f600}", "a\u{e000}", "a\u{ffff}"] {
        for points in [i64::MAX, 10, 9, 0, -1, i64::MIN] {
            let level = if points > 0 { 1 } else { -1 };
            scores.push(Score { game: game.into(), points: Descending(points), level });
        }
    }
    sorted(scores, |row| (row.game.clone(), text(&row.points)))
}

fn on_text_and_numbers() -> Vec<Case<Score>> {
    let ten = 10;
    cases! { Score:
        |b| b.game.eq(""), filter!(Score, b => b.game == ""), "PartitionKey eq ''", |r| r.game.is_empty();
        |b| b.game.is_in(["100%", "it's"]), filter!(Score, b => b.game in ["100%", "it's"]), "PartitionKey eq '100%' or PartitionKey eq 'it''s'", |r| r.game == "100%" || r.game == "it's";
        |b| b.game.ne("a+b & c"), filter!(Score, b => b.game != "a+b & c"), "PartitionKey ne 'a+b & c'", |r| r.game != "a+b & c";
        |b| b.game.lt("a\u{e000}"), filter!(Score, b => b.game < "a\u{e000}"), "PartitionKey lt 'a\u{e000}'", |r| !["it's", "a\u{e000}", "a\u{ffff}"].contains(&&*r.game);
        |b| b.game.gt("a\u{1f600}"), filter!(Score, b => b.game > "a\u{1f600}"), "PartitionKey gt 'a\u{1f600}'", |r| ["it's", "a\u{e000}", "a\u{ffff}"].contains(&&*r.game);
        |b| b.game.starts_with("a\u{ffff}"), filter!(Score, b => b.game.starts_with("a\u{ffff}")), "PartitionKey ge 'a\u{ffff}' and PartitionKey lt 'b'", |r| r.game == "a\u{ffff}";
        |b| !b.game.starts_with(String::from("it")), filter!(Score, b => !b.game.starts_with(String::from("it"))), "not (PartitionKey ge 'it' and PartitionKey lt 'iu')", |r| r.game != "it's";
        |b| b.points.eq(i64::MAX), filter!(Score, b => b.points == i64::MAX), "RowKey eq '-0000000000000000000'", |r| r.points.0 == i64::MAX;
        |b| b.points.ne(Descending(i64::MIN)), filter!(Score, b => b.points != Descending(i64::MIN)), "RowKey ne '09223372036854775807'", |r| r.points.0 != i64::MIN;
        |b| b.points.newer_than(-1), filter!(Score, b => b.points.newer_than(-1)), "RowKey lt '00000000000000000000'", |r| r.points.0 > -1;
        |b| b.points.older_than(&ten), filter!(Score, b => b.points.older_than(&ten)), "RowKey gt '-9223372036854775797'", |r| r.points.0 < 10;
        |b| b.points.between(Descending(ten), Descending(0)), filter!(Score, b => b.points.older_or_equal(ten) && b.points.newer_or_equal(0)), "RowKey ge '-9223372036854775797' and RowKey le '-9223372036854775807'", |r| (0..=10).contains(&r.points.0);
        |b| !b.points.is_in([ten, 9]) & b.level.gt(0), filter!(Score, b => !b.points in [ten, 9] && b.level > 0), "not (RowKey eq '-9223372036854775797' or RowKey eq '-9223372036854775798') and level gt 0", |r| r.points.0 == i64::MAX;
    }
}

fn blogs() -> Vec<Blog> {
    let mut blogs = Vec::new();
    for (channel, year) in [("Football", 2009), ("Football", 2008), ("It's", 2009)] {
        for (rating, id) in
            [(255, "a"), (5, "a"), (5, "a b"), (5, "a/b"), (5, ""), (0, "\u{1f600}")]
        {
            for page in [1, 10] {
                let text = format!("{channel} {year}");
                let (channel, id) = (channel.into(), id.into());
                blogs.push(Blog { channel, year, rating: Descending(rating), id, page, text });
            }
        }
    }
    sorted(blogs, |row| {
        let rating = text(&row.rating);
        let id = text(&Escaped(row.id.clone()));
        (
            format!("{}_{:04}", row.channel, 9999 - row.year),
            format!("{rating}!{id}!{}", text(&row.page)),
        )
    })
}

fn on_keys_of_several_parts() -> Vec<Case<Blog>> {
    let best = Descending(5);
    let id = String::from("a/b");
    cases! { Blog:
        |b| b.partition_key.starts_with("Foot"), filter!(Blog, b => b.partition_key.starts_with("Foot")), "PartitionKey ge 'Foot' and PartitionKey lt 'Foou'", |r| r.channel == "Football";
        |b| b.partition_key.starts_with(("Football",)), filter!(Blog, b => b.partition_key.starts_with(("Football",))), "PartitionKey ge 'Football_' and PartitionKey lt 'Football`'", |r| r.channel == "Football";
        |b| b.partition_key.starts_with(("It's", 2009)), filter!(Blog, b => b.partition_key.starts_with(("It's", 2009))), "PartitionKey ge 'It''s_7990' and PartitionKey lt 'It''s_7990 '", |r| r.channel == "It's";
        |b| !b.partition_key.starts_with(("Football", 2008)), filter!(Blog, b => !b.partition_key.starts_with(("Football", 2008))), "not (PartitionKey ge 'Football_7991' and PartitionKey lt 'Football_7991 ')", |r| r.year != 2008;
        |b| b.partition_key.ge(("G",)), filter!(Blog, b => b.partition_key >= ("G",)), "PartitionKey ge 'G_'", |r| r.channel == "It's";
        |b| b.partition_key.between(("Football",), ("Football",)), filter!(Blog, b => b.partition_key.between(("Football",), ("Football",))), "PartitionKey ge 'Football_' and PartitionKey lt 'Football`'", |r| r.channel == "Football";
        |b| b.partition_key.between(("Football", Descending(2008)), ("It's",)), filter!(Blog, b => b.partition_key >= ("Football", Descending(2008)) && b.partition_key <= ("It's",)), "PartitionKey ge 'Football_7991' and PartitionKey lt 'It''s`'", |r| r.channel == "It's" || r.year == 2008;
        |b| b.row_key.newer_than((5,)), filter!(Blog, b => b.row_key.newer_than((5,))), "RowKey lt '250!'", |r| r.rating.0 > 5;
        |b| b.row_key.newer_or_equal((5,)), filter!(Blog, b => b.row_key.newer_or_equal((5,))), "RowKey lt '250\"'", |r| r.rating.0 >= 5;
        |b| b.row_key.older_than((best,)), filter!(Blog, b => b.row_key.older_than((5,))), "RowKey ge '250\"'", |r| r.rating.0 < 5;
        |b| b.row_key.older_or_equal((5,)), filter!(Blog, b => b.row_key.older_or_equal((best,))), "RowKey ge '250!'", |r| r.rating.0 <= 5;
        |b| b.row_key.between((best, "a"), (best,)), filter!(Blog, b => b.row_key >= (best, "a") && b.row_key <= (best,)), "RowKey ge '250!a!' and RowKey lt '250\"'", |r| r.rating.0 == 5 && !r.id.is_empty();
        |b| b.row_key.lt((&best, &id)) & b.row_key.gt((Descending(255),)), filter!(Blog, b => b.row_key < (&best, &id) && b.row_key > (Descending(255),)), "RowKey lt '250!a.1b!' and RowKey ge '000\"'", |r| r.rating.0 == 5 && r.id != "a/b";
        |b| b.row_key.starts_with("25"), filter!(Blog, b => b.row_key.starts_with("25")), "RowKey ge '25' and RowKey lt '26'", |r| r.rating.0 <= 5;
        |b| b.row_key.starts_with((5,)), filter!(Blog, b => b.row_key.starts_with((5,))), "RowKey ge '250!' and RowKey lt '250\"'", |r| r.rating.0 == 5;
        |b| b.row_key.starts_with((best, "a")), filter!(Blog, b => b.row_key.starts_with((best, "a"))), "RowKey ge '250!a!' and RowKey lt '250!a\"'", |r| r.rating.0 == 5 && r.id == "a";
        |b| !b.row_key.starts_with((&best, &id)), filter!(Blog, b => !b.row_key.starts_with((&best, &id))), "not (RowKey ge '250!a.1b!' and RowKey lt '250!a.1b\"')", |r| r.id != "a/b";
        |b| b.row_key.starts_with((5, "", 10)), filter!(Blog, b => b.row_key.starts_with((5, "", 10))), "RowKey ge '250!!00010' and RowKey lt '250!!00010 '", |r| r.id.is_empty() && r.page == 10;
        |b| b.row_key.starts_with((0, "\u{1f600}")), filter!(Blog, b => b.row_key.starts_with((0, "\u{1f600}"))), "RowKey ge '255!\u{1f600}!' and RowKey lt '255!\u{1f600}\"'", |r| r.rating.0 == 0;
        |b| b.partition_key.starts_with(("Football", 2009)) & (b.row_key.starts_with((255,)) | b.row_key.starts_with((5, "a b", 1))), filter!(Blog, b => b.partition_key.starts_with(("Football", 2009)) && (b.row_key.starts_with((255,)) || b.row_key.starts_with((5, "a b", 1)))), "PartitionKey ge 'Football_7990' and PartitionKey lt 'Football_7990 ' and (RowKey ge '000!' and RowKey lt '000\"' or RowKey ge '250!a\"Wb!00001' and RowKey lt '250!a\"Wb!00001 ')", |r| r.channel == "Football" && r.year == 2009 && (r.rating.0 == 255 || r.id == "a b" && r.page == 1);
        |b| b.row_key.starts_with((5,)) & !b.row_key.starts_with((5, "a")) & b.text.eq("Football 2008"), filter!(Blog, b => b.row_key.starts_with((5,)) && !b.row_key.starts_with((5, "a")) && b.text == "Football 2008"), "RowKey ge '250!' and RowKey lt '250\"' and not (RowKey ge '250!a!' and RowKey lt '250!a\"') and text eq 'Football 2008'", |r| r.rating.0 == 5 && r.id != "a" && r.year == 2008;
    }
}

/// Keys are compared in the order of their values, by the texts that they are stored as.
pub(crate) async fn filters_on_keys(target: &Target) {
    let table = check(target, "days and times as keys", &visits(), on_days_and_times()).await;
    table.delete_table().await.unwrap();
    let table = check(target, "choices and ids as keys", &flags(), on_choices_and_ids()).await;
    table.delete_table().await.unwrap();
    let cases = on_choices_and_escaped_text();
    let table = check(target, "choices and escaped text as keys", &files(), cases).await;
    table.delete_table().await.unwrap();
    let table = check(target, "text and numbers as keys", &scores(), on_text_and_numbers()).await;
    table.delete_table().await.unwrap();
    let cases = on_keys_of_several_parts();
    let table = check(target, "keys of several parts", &blogs(), cases).await;
    table.delete_table().await.unwrap();
}
