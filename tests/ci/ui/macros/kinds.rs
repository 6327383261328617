//! Errors that the macros report.

mod discriminator_is_reserved {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Post {
        #[table(partition_key)]
        user: String,
        #[table(row_key)]
        id: String,
        kind: String,
    }

    #[derive(TableEntity)]
    #[table(discriminator = "RowKey")]
    enum Item {
        Post(Post),
    }
}

mod discriminator_on_struct {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(discriminator = "Kind")]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: String,
    }
}

mod kind_with_two_entities {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Post {
        #[table(partition_key)]
        user: String,
        #[table(row_key)]
        id: String,
        kind: String,
    }

    #[derive(TableEntity)]
    #[table(discriminator = "Kind")]
    enum Item {
        Both(Post, Post),
    }
}

mod kinds_of_the_same_name {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Post {
        #[table(partition_key)]
        user: String,
        #[table(row_key)]
        id: String,
        kind: String,
    }

    #[derive(TableEntity)]
    #[table(discriminator = "Kind")]
    enum Item {
        Post(Post),
        #[table(rename = "Post")]
        Old(Post),
    }
}

mod kinds_with_two_discriminators {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Post {
        #[table(partition_key)]
        user: String,
        #[table(row_key)]
        id: String,
        kind: String,
    }

    #[derive(TableEntity)]
    #[table(discriminator = "Kind", discriminator_in_row_key)]
    enum Item {
        Post(Post),
    }
}

mod kinds_with_two_others {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Post {
        #[table(partition_key)]
        user: String,
        #[table(row_key)]
        id: String,
        kind: String,
    }

    #[derive(TableEntity)]
    #[table(discriminator = "Kind")]
    enum Item {
        #[table(other)]
        A(Post),
        #[table(other)]
        B(Post),
    }
}

mod kinds_without_discriminator {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Post {
        #[table(partition_key)]
        user: String,
        #[table(row_key)]
        id: String,
        kind: String,
    }

    #[derive(TableEntity)]
    enum Item {
        Post(Post),
    }
}

mod other_kind_with_rename {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Post {
        #[table(partition_key)]
        user: String,
        #[table(row_key)]
        id: String,
        kind: String,
    }

    #[derive(TableEntity)]
    #[table(discriminator = "Kind")]
    enum Item {
        #[table(other, rename = "x")]
        Other(Post),
    }
}

mod row_key_on_kinds {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Post {
        #[table(partition_key)]
        user: String,
        #[table(row_key)]
        id: String,
    }

    #[derive(TableEntity)]
    #[table(discriminator = "Kind", row_key = "{id}")]
    enum Item {
        Post(Post),
    }
}

fn main() {}
