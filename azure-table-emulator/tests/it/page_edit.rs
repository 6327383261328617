//! Tests of the page's forms: tables and entities are created, changed and deleted, by this page only.

use azure_table_client::DynamicEntity;
use azure_table_client::edm::EdmValue;

use crate::server::Server;

const BLOGS: &str = "/-/devstoreaccount1/Blogs";

/// The token that the forms of the server have.
async fn token(server: &Server) -> String {
    let page = server.text("/-/").await;
    let (_, token) = page.split_once("name=\"token\" value=\"").unwrap();
    token.split('"').next().unwrap().to_owned()
}

fn value(page: &str, name: &str) -> String {
    let (_, value) = page.split_once(&format!("name=\"{name}\" value=\"")).unwrap();
    value
        .split('"')
        .next()
        .unwrap()
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

/// Sends a form with the token. Redirects are followed.
async fn post(server: &Server, path: &str, fields: &[(&str, &str)]) -> (u16, String) {
    let token = token(server).await;
    let fields: Vec<_> = [("token", &*token)].into_iter().chain(fields.iter().copied()).collect();
    send(server, path, &[], &fields).await
}

async fn send(
    server: &Server,
    path: &str,
    headers: &[(&str, &str)],
    fields: &[(&str, &str)],
) -> (u16, String) {
    let client = reqwest::Client::new();
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    let body = form.extend_pairs(fields).finish();
    let mut request = client.post(format!("{}{path}", server.origin)).body(body);
    request = request.header("content-type", "application/x-www-form-urlencoded");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let reply = request.send().await.unwrap();
    (reply.status().as_u16(), reply.text().await.unwrap())
}

async fn with_row() -> (Server, azure_table_client::TableClient<DynamicEntity>) {
    let server = Server::start(&[]).await;
    let table = server.table("Blogs").await;
    let row = DynamicEntity::new("p", "r").with("Text", "a\r\nb").with("Views", 3_i64);
    table.insert(&row).await.unwrap();
    (server, table)
}

#[tokio::test]
async fn tables_are_created_and_deleted() {
    let server = Server::start(&[]).await;
    let (status, page) = post(&server, "/-/devstoreaccount1/", &[("table", "Blogs")]).await;
    assert!(status == 200 && page.contains("The table is created."), "{page}");
    let (status, page) = post(&server, "/-/devstoreaccount1/", &[("table", "Blogs")]).await;
    assert!(status == 400 && page.contains("TableAlreadyExists"), "{page}");
    let (status, page) = post(&server, "/-/devstoreaccount1/", &[("table", "1/..\r\n")]).await;
    assert!(status == 400 && page.contains("role=\"alert\""), "{page}");
    let confirm = server.text(&format!("{BLOGS}/delete-table")).await;
    assert!(confirm.contains("The table has 0 rows."), "{confirm}");
    let (status, page) = post(&server, &format!("{BLOGS}/delete-table"), &[]).await;
    assert!(status == 200 && page.contains("The table is deleted."), "{page}");
    assert_eq!(server.get(BLOGS).await.status(), 404);
}

#[tokio::test]
async fn an_entity_is_inserted_with_types() {
    let (server, table) = with_row().await;
    let form = [
        ("PartitionKey", "new p"),
        ("RowKey", "é"),
        ("name-0", "Views"),
        ("type-0", "Edm.Int64"),
        ("value-0", "x"),
        ("name-1", "Posted"),
        ("type-1", "Edm.DateTime"),
        ("value-1", "2009-04-14T12:30:00Z"),
    ];
    let (status, page) = post(&server, &format!("{BLOGS}/add"), &form).await;
    assert_eq!(status, 400);
    assert!(page.contains("Views (Edm.Int64) must be a whole number of 64 bits"), "{page}");
    assert!(page.contains("value=\"new p\""), "the form keeps its input: {page}");
    let mut form = form;
    form[4].1 = "7";
    let (status, page) = post(&server, &format!("{BLOGS}/add"), &form).await;
    assert!(status == 200 && page.contains("The entity is inserted."), "{page}");
    let row = table.get(("new p", "é")).await.unwrap();
    assert_eq!(row.value("Views"), Some(&EdmValue::Int64(7)));
    assert_eq!(
        row.value("Posted").map(EdmValue::to_string).unwrap(),
        "2009-04-14T12:30:00.0000000Z"
    );
    let (status, page) = post(&server, &format!("{BLOGS}/add"), &form).await;
    assert!(status == 400 && page.contains("EntityAlreadyExists"), "{page}");
}

#[tokio::test]
async fn an_entity_is_edited_and_a_concurrent_change_is_not_lost() {
    let (server, table) = with_row().await;
    let edit = format!("{BLOGS}/edit?PartitionKey=p&RowKey=r");
    let form = server.text(&edit).await;
    let etag = value(&form, "etag");
    let fields = |etag: &str, views: &str| {
        [
            ("etag", etag),
            ("PartitionKey", "p"),
            ("RowKey", "r"),
            ("name-0", "Text"),
            ("type-0", "Edm.String"),
            ("value-0", "a\r\nb"),
            ("name-1", "Views"),
            ("type-1", "Edm.Int64"),
            ("value-1", views),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    let save = async |etag: &str, views: &str| {
        let fields = fields(etag, views);
        let fields: Vec<_> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        post(&server, &edit, &fields).await
    };
    let (status, page) = save(&etag, "4").await;
    assert!(status == 200 && page.contains("The entity is saved."), "{page}");
    let row = table.get(("p", "r")).await.unwrap();
    assert_eq!(row.value("Views"), Some(&EdmValue::Int64(4)));
    assert_eq!(row.value("Text"), Some(&EdmValue::from("a\r\nb")), "unchanged to the last bit");

    // The form still has the first version.
    let (status, page) = save(&etag, "5").await;
    assert_eq!(status, 409);
    for text in
        ["Another program changed this entity", ">4</bdi>", ">5</bdi>", ">Overwrite</button>"]
    {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert_eq!(table.get(("p", "r")).await.unwrap().value("Views"), Some(&EdmValue::Int64(4)));
    let (status, _) = save(&value(&page, "etag"), "5").await;
    assert_eq!(status, 200);
    assert_eq!(table.get(("p", "r")).await.unwrap().value("Views"), Some(&EdmValue::Int64(5)));

    table.delete(("p", "r"), azure_table_client::IfMatch::Any).await.unwrap();
    let (status, page) = save(&etag, "6").await;
    assert!(status == 409 && page.contains("deleted this entity"), "{page}");
}

#[tokio::test]
async fn selected_entities_are_deleted_after_a_confirmation() {
    let (server, table) = with_row().await;
    table.insert(&DynamicEntity::new("p", "r2")).await.unwrap();
    let delete = format!("{BLOGS}/delete");
    let (status, page) = post(&server, &delete, &[]).await;
    assert!(status == 409 && page.contains("No entity is selected."), "{page}");
    let row = value(&server.text(BLOGS).await, "row");
    let (status, confirm) = post(&server, &delete, &[("row", &row)]).await;
    assert!(status == 200 && confirm.contains("Delete 1 entity?"), "{confirm}");
    assert!(table.contains(("p", "r")).await.unwrap(), "only asked");

    // A change after the selection is not lost.
    table.insert_or_merge(&DynamicEntity::new("p", "r").with("Views", 9)).await.unwrap();
    let (status, page) = post(&server, &delete, &[("row", &row), ("confirmed", "yes")]).await;
    assert!(status == 409 && page.contains("p, r was changed by another program"), "{page}");
    let row = value(&page, "row");
    let form = [("row", &*row), ("confirmed", "yes"), ("view", "?filter=Views+eq+9")];
    let (status, page) = post(&server, &delete, &form).await;
    assert!(status == 200 && page.contains("Deleted.") && page.contains("Views eq 9"), "{page}");
    assert!(!table.contains(("p", "r")).await.unwrap());
    assert!(table.contains(("p", "r2")).await.unwrap());
}

#[tokio::test]
async fn forms_of_other_web_sites_are_refused() {
    let (server, _) = with_row().await;
    let token = token(&server).await;
    let fields = [("token", &*token), ("table", "Other")];
    let path = "/-/devstoreaccount1/";
    for (headers, fields, status) in [
        (&[("sec-fetch-site", "cross-site")][..], &fields[..], 403),
        (&[("origin", "http://evil.example")], &fields, 403),
        (&[("origin", "null")], &fields, 403),
        (&[("host", "evil.example")], &fields, 403),
        (&[], &fields[1..], 403),
        (&[], &[("token", "0"), ("table", "Other")], 403),
    ] {
        let (got, page) = send(&server, path, headers, fields).await;
        assert_eq!(got, status, "{headers:?} {fields:?}: {page}");
    }
    let client = reqwest::Client::new();
    let plain =
        client.post(format!("{}{path}", server.origin)).header("content-type", "text/plain");
    let plain = plain.body(format!("token={token}&table=Other")).send().await.unwrap();
    assert_eq!(plain.status(), 415);
    assert!(!server.client().table_exists("Other").await.unwrap());
    let origin = server.origin.clone();
    let own = [("sec-fetch-site", "same-origin"), ("origin", &*origin)];
    assert_eq!(send(&server, path, &own, &fields).await.0, 200);
    assert!(server.client().table_exists("Other").await.unwrap());
}

#[tokio::test]
async fn a_page_that_must_not_write_has_no_forms() {
    for arguments in [&["--read-only"][..], &["--host", "0.0.0.0"]] {
        let server = Server::start(arguments).await;
        server.table("Blogs").await;
        for path in ["/-/", BLOGS] {
            let page = server.text(path).await;
            assert!(!page.contains("method=\"post\"") && page.contains(", read-only"), "{page}");
        }
        for path in ["add", "delete-table"] {
            assert_eq!(server.get(&format!("{BLOGS}/{path}")).await.status(), 404);
        }
        let (status, _) = send(&server, "/-/devstoreaccount1/", &[], &[("table", "Other")]).await;
        assert_eq!(status, 403);
    }
}

#[tokio::test]
async fn the_page_needs_the_control_token_once_it_is_set() {
    let token = "secret-of-32-characters-or-more!";
    for host in ["127.0.0.1", "0.0.0.0"] {
        let mut server = Server::start(&["--host", host, "--control-token", token]).await;
        server.origin = server.origin.replace("0.0.0.0", "127.0.0.1");
        assert_eq!(server.get("/-/health").await.status(), 200);
        let client = reqwest::Client::new();
        let get = |path: &str| client.get(format!("{}{path}", server.origin));
        for path in ["/-/", "/-/devstoreaccount1/Blogs", "/-/changes", "/-/style.css"] {
            let refused = get(path).send().await.unwrap();
            assert_eq!(refused.status(), 401, "{path}");
            assert!(refused.headers()["www-authenticate"].to_str().unwrap().starts_with("Basic "));
            assert!(!refused.text().await.unwrap().contains("devstoreaccount1"));
            let wrong = get(path).basic_auth("user", Some("secret")).send().await.unwrap();
            assert_eq!(wrong.status(), 401, "{path}");
        }
        // A browser with the credentials that it remembers.
        let read = get("/-/").header("accept", "text/html").basic_auth("", Some(token));
        let page = read.send().await.unwrap().text().await.unwrap();
        let (_, rest) = page.split_once("name=\"token\" value=\"").expect("a form");
        let form_token = rest.split('"').next().unwrap();
        let post = |token: &str| {
            let form = format!("token={token}&table=Blogs");
            let post = client.post(format!("{}/-/devstoreaccount1/", server.origin)).body(form);
            post.header("content-type", "application/x-www-form-urlencoded")
        };
        assert_eq!(post(form_token).send().await.unwrap().status(), 401);
        let forged = post("x").basic_auth("", Some(token)).send().await.unwrap();
        assert_eq!(forged.status(), 403, "another site's form has the password, but not the token");
        let created = post(form_token).basic_auth("", Some(token)).send().await.unwrap();
        assert_eq!(created.status(), 200, "the page that reports the new table");
        let refused = get("/-/export").basic_auth("", Some(token)).send().await.unwrap();
        assert_eq!(
            refused.status(),
            401,
            "a browser sends a password to other sites' requests too"
        );
    }
}
