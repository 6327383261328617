//! Generated code does not depend on the names in scope.

#![deny(warnings, missing_docs, unused, unused_qualifications, missing_debug_implementations)]
#![deny(non_local_definitions, unreachable_pub, trivial_casts, trivial_numeric_casts)]
#![deny(single_use_lifetimes, unused_results, unused_lifetimes, variant_size_differences)]
#![no_implicit_prelude]

/// Names that the generated code must not pick up.
pub mod shadows {
    /// A table entity.
    #[derive(::std::fmt::Debug, ::azure_table_client::TableEntity)]
    #[table(name = "Shadows")]
    pub struct Entity {
        /// The partition.
        #[table(partition_key)]
        pub partition_key: ::std::string::String,
        /// The row.
        #[table(row_key)]
        pub row_key: ::std::string::String,
        /// A text.
        #[table(default = "text")]
        pub text: ::std::string::String,
        /// A number.
        #[deprecated(note = "counts for nothing")]
        #[table(default)]
        pub count: i32,
    }

    fn text() -> ::std::string::String {
        ::std::borrow::ToOwned::to_owned("text")
    }

    /// Not the prelude's.
    #[derive(::std::fmt::Debug)]
    pub struct Result;
    /// Not the prelude's.
    #[derive(::std::fmt::Debug)]
    pub struct Option;
    /// Not the prelude's.
    #[derive(::std::fmt::Debug)]
    pub struct Cow;
    /// Not the primitive type.
    #[allow(non_camel_case_types)]
    #[derive(::std::fmt::Debug)]
    pub struct str;
    /// Not the client's.
    #[derive(::std::fmt::Debug)]
    pub struct Row;
    /// Not the client's.
    pub trait TableEntity {
        /// Another column.
        const COLUMNS: i32 = 0;
        /// Another key.
        fn partition_key(&self) {}
        /// Another reader.
        fn from_row() {}
    }
    impl TableEntity for Entity {}
    /// Not the client's.
    pub trait PropertyField {
        /// Another writer.
        fn write(&self) {}
        /// Another reader.
        fn read() {}
    }
    impl<T> PropertyField for T {}
    /// Not the prelude's.
    #[allow(non_snake_case)]
    pub fn Ok() {}
    /// Not a crate.
    pub mod azure_table_client {}
    /// Not a crate.
    pub mod core {}
    /// Not a crate.
    pub mod std {}
    /// Constants with the names of the generated type parameters.
    #[allow(non_upper_case_globals)]
    pub mod constants {
        /// A constant.
        pub const row: i32 = 0;
        /// A constant.
        pub const writer: i32 = 0;
        /// A constant.
        pub const default: i32 = 0;
        /// A table entity next to these names.
        #[derive(::std::fmt::Debug, ::azure_table_client::TableEntity)]
        pub struct Beside {
            /// The partition.
            #[table(partition_key)]
            pub p: ::std::string::String,
            /// The row.
            #[table(row_key)]
            pub r: ::std::string::String,
            /// A text.
            #[table(default = "::std::string::String::new")]
            pub text: ::std::string::String,
        }
    }
}

fn main() {
    #[derive(::std::fmt::Debug, ::azure_table_client::TableEntity)]
    struct Local {
        #[table(partition_key)]
        p: ::std::string::String,
        #[table(row_key)]
        r: ::std::string::String,
    }
    let local = Local { p: ::std::convert::From::from("p"), r: ::std::convert::From::from("r") };
    let key = ::azure_table_client::TableEntity::entity_key(&local);
    ::std::assert_eq!(key, ::std::result::Result::Ok(::azure_table_client::EntityKey::new("p", "r")));
}
