//! The generated code, as the compiler sees it.
//!
//! After a change run `INSTA_UPDATE=always cargo test -p azure-table-derive` and read the
//! difference.

use insta::assert_snapshot;
use quote::quote;
use syn::parse_quote;

use crate::expand;

fn expanded(input: &syn::DeriveInput) -> String {
    pretty(expand::table_entity(input))
}

fn pretty(output: proc_macro2::TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(output).expect("the output is a list of items"))
}

/// Returns the names of the properties in `FIELDS`.
fn columns(input: &syn::DeriveInput) -> String {
    let output = expanded(input).split_whitespace().collect::<String>();
    let names = output.split("STORED.field(\",\\").skip(1).filter_map(|rest| rest.split_once('\\'));
    names.map(|(name, _)| format!("{name}\",")).collect::<Vec<_>>().join(" ")
}

#[test]
fn blog() {
    assert_snapshot!(expanded(&parse_quote! {
        #[table(name = "Blogs", rename_all = "PascalCase")]
        struct Blog {
            #[table(partition_key)]
            channel: String,
            #[table(row_key)]
            posted: Descending<DateTime<Utc>>,
            text: String,
            rating: i32,
            #[table(skip)]
            rating_as_string: String,
        }
    }));
}

#[test]
fn indexes() {
    let output = expanded(&parse_quote! {
        #[table(index(by = "email", unique), index(by = "id", in_partition))]
        #[table(index(by = r#type, unique))]
        struct User {
            #[table(partition_key)]
            group: String,
            #[table(row_key, also_property, rename = "Id")]
            id: String,
            email: String,
            r#type: Option<i32>,
        }
    });
    let at = output.find("impl __table::HasIndexes for User").expect("the indexes");
    assert_snapshot!(output[at..].lines().take(7).collect::<Vec<_>>().join("\n"));
}

#[test]
fn keys_only() {
    assert_snapshot!(expanded(&parse_quote! {
        struct Membership {
            #[table(partition_key)]
            group: Uuid,
            #[table(row_key)]
            member: Uuid,
        }
    }));
}

#[test]
fn timestamp_and_etag() {
    assert_snapshot!(expanded(&parse_quote! {
        struct Versioned {
            #[table(etag)]
            version: ETag,
            #[table(row_key)]
            id: String,
            #[table(timestamp)]
            changed: Option<DateTime<Utc>>,
            #[table(partition_key)]
            tenant: String,
            text: String,
        }
    }));
}

#[test]
fn defaults() {
    assert_snapshot!(expanded(&parse_quote! {
        struct Settings {
            #[table(partition_key)]
            tenant: String,
            #[table(row_key)]
            id: String,
            #[table(default)]
            retries: i32,
            #[table(default = "Self::default_color")]
            color: String,
            #[table(default = "<[_]>::to_vec")]
            data: Vec<u8>,
            #[table(skip, default = "std::time::Instant::now")]
            read_at: std::time::Instant,
        }
    }));
}

#[test]
fn generics() {
    assert_snapshot!(expanded(&parse_quote! {
        #[table(name = "Samples")]
        pub(crate) struct Sample<K: Clone, V = f64, const N: usize = 3>
        where
            V: Copy,
        {
            #[table(partition_key)]
            sensor: K,
            #[table(row_key)]
            at: String,
            value: V,
            previous: Option<V>,
            #[table(default)]
            scale: Scale<V>,
            unit: String,
            #[table(skip)]
            history: [u8; N],
            #[table(skip)]
            marker: PhantomData<(K, V)>,
        }
    }));
}

#[test]
fn another_path_to_the_client() {
    assert_snapshot!(expanded(&parse_quote! {
        #[table(crate = "crate::facade::tables")]
        struct Blog {
            #[table(partition_key)]
            channel: String,
            #[table(row_key)]
            id: String,
        }
    }));
}

#[test]
fn raw_identifiers_and_names_of_locals() {
    assert_snapshot!(expanded(&parse_quote! {
        struct Names {
            #[table(partition_key)]
            r#match: String,
            #[table(row_key)]
            row_key: String,
            r#type: String,
            row: i32,
            __row: i32,
            writer: i32,
            #[table(rename = "Größe")]
            size: i64,
        }
    }));
}

#[test]
fn keys_of_several_parts() {
    assert_snapshot!(expanded(&parse_quote! {
        #[table(no_constructors, partition_key = "{channel}_{year:inv4}", row_key(rating, row))]
        struct Blog {
            channel: String,
            year: i32,
            rating: Descending<u8>,
            row: String,
            text: String,
        }
    }));
}

#[test]
fn one_field_as_both_keys_has_the_columns_of_the_keys_only() {
    let output = expanded(&parse_quote! {
        struct Same {
            #[table(partition_key, row_key)]
            id: u32,
            text: String,
        }
    });
    for name in ["partition_key", "row_key"] {
        assert!(output.contains(&format!("{name}: __table::KeyColumn")), "{output}");
    }
    assert!(!output.contains("PartitionKeyPart") && !output.contains("RowKeyPart"), "{output}");
}

#[test]
fn every_sort_of_field() {
    assert_snapshot!(expanded(&parse_quote! {
        #[table(no_constructors, deny_unknown, on_mistyped = "collect", accept = "widened")]
        struct Everything {
            #[table(partition_key)]
            p: String,
            #[table(row_key)]
            r: String,
            #[table(alias = "old")]
            new: i64,
            #[table(as_string, skip_if = "is_zero", default)]
            total: u128,
            #[table(with = "codec")]
            coded: Option<Code>,
            #[table(read_only)]
            score: f64,
            #[table(flatten = "Home_")]
            home: Address,
            #[table(series, default)]
            cpu: [f64; 24],
            #[table(split)]
            text: String,
            #[table(computed = "Self::stars")]
            stars: String,
            #[table(errors)]
            errors: Vec<DecodeError>,
        }
    }));
}

#[test]
fn a_group() {
    assert_snapshot!(pretty(expand::property_group(&parse_quote! {
        #[table(rename_all = "PascalCase")]
        struct Address {
            street: String,
            #[table(alias = "Town")]
            city: Option<String>,
            #[table(flatten = "Geo_")]
            position: Option<Position>,
        }
    })));
}

#[test]
fn kinds_by_a_property() {
    assert_snapshot!(expanded(&parse_quote! {
        #[table(name = "Timeline", discriminator = "EntityType")]
        enum Item {
            Post(Post),
            #[table(rename = "picture")]
            Photo(Photo),
            #[table(other)]
            Other(DynamicEntity),
        }
    }));
}

#[test]
fn kinds_by_the_row_key() {
    assert_snapshot!(expanded(&parse_quote! {
        #[table(discriminator_in_row_key)]
        enum Item {
            Post(Post),
            Photo(Photo),
        }
    }));
}

#[test]
fn an_enum_as_text() {
    assert_snapshot!(pretty(expand::table_enum(&parse_quote! {
        #[table(rename_all = "lowercase")]
        enum Status {
            Draft,
            #[table(rename = "live", alias = "published")]
            Live,
            #[table(other)]
            Other(String),
        }
    })));
}

#[test]
fn keys_that_are_properties() {
    assert_snapshot!(expanded(&parse_quote! {
        #[table(row_key(at, user))]
        struct Visit {
            #[table(partition_key, also_property)]
            user: String,
            #[table(also_property, as_i64, rename = "Time", on_inexact = "error")]
            at: Seconds,
            #[table(on_inexact = "error")]
            left: Option<DateTime<Utc>>,
            #[table(as_json)]
            pages: Vec<String>,
        }
    }));
}

#[test]
fn a_newtype() {
    assert_snapshot!(pretty(expand::table_value(&parse_quote! {
        struct Id<T> {
            id: T,
        }
    })));
}

#[test]
fn an_enum_as_number() {
    assert_snapshot!(pretty(expand::table_enum(&parse_quote! {
        #[table(as_i32)]
        enum Level {
            Low = 1,
            Next,
            High = 5,
        }
    })));
}

#[test]
fn a_set_of_tables() {
    assert_snapshot!(pretty(expand::table_set(&parse_quote! {
        struct Database {
            blogs: TableClient<Blog>,
            #[table(name = "Audit")]
            audit: TableClient<DynamicEntity>,
        }
    })));
}

#[test]
fn refused() {
    assert_snapshot!(expanded(&parse_quote! {
        #[table(name = "my-blogs")]
        struct Blog<T: Copy> {
            #[table(partition_key)]
            channel: T,
            #[table(rename = "")]
            text: String,
        }
    }));
}

#[test]
fn refused_enum() {
    assert_snapshot!(expanded(&parse_quote! {
        enum Blog {
            Draft,
        }
    }));
}

#[test]
fn names_by_each_rule() {
    let names: Vec<_> =
        ["PascalCase", "camelCase", "snake_case", "SCREAMING_SNAKE_CASE", "lowercase", "UPPERCASE"]
            .into_iter()
            .map(|rule| {
                let columns = columns(&parse_quote! {
                    #[table(rename_all = #rule)]
                    struct Blog {
                        #[table(partition_key)]
                        p: String,
                        #[table(row_key)]
                        r: String,
                        text: String,
                        rating_as_string: String,
                        r#type: String,
                        #[table(rename = "as_Given")]
                        other: String,
                    }
                });
                format!("{rule}: {columns}")
            })
            .collect();
    assert_snapshot!(names.join("\n"));
}

/// A property costs one line to write and one to read, and four for its column.
#[test]
fn output_grows_by_a_few_lines_for_each_property() {
    let lines = |count: usize| {
        let fields = (0..count).map(|at| quote::format_ident!("p{at}"));
        let fields = quote!(#(#fields: String,)*);
        expanded(&parse_quote! {
            struct Wide {
                #[table(partition_key)]
                p: String,
                #[table(row_key)]
                r: String,
                #fields
            }
        })
        .lines()
        .count()
    };
    assert!(lines(100) <= lines(10) + 1000, "{} and {}", lines(10), lines(100));
}
