//! Tests of the page.

use azure_table_client::DynamicEntity;

use crate::server::Server;

const EVIL: &str = "<script>alert('x')</script>\"&";

/// A server with a table of this many rows. The text of the first row is markup.
async fn with_rows(rows: usize) -> Server {
    let server = Server::start(&[]).await;
    let table = server.table("Blogs").await;
    let mut trap = DynamicEntity::new("<script>alert('x')<", "0\"&");
    table.insert(trap.set("Text", EVIL).set("Views", 3_i64).set("Rate", 5.0)).await.unwrap();
    let rest: Vec<_> = (1..rows).map(|at| DynamicEntity::new("p", format!("{at:03}"))).collect();
    for rows in rest.chunks(100) {
        let mut transaction = table.transaction();
        for row in rows {
            transaction = transaction.insert(row);
        }
        transaction.await.unwrap();
    }
    server
}

#[tokio::test]
async fn health_reports_the_version_and_no_accounts() {
    let server = Server::start(&["--no-page"]).await;
    let reply = server.get("/-/health").await;
    assert_eq!(reply.status(), 200);
    assert_eq!(reply.headers()["content-type"], "application/json");
    let health = reply.text().await.unwrap();
    assert!(health.contains(r#""status":"ok""#), "{health}");
    assert!(health.contains(&format!(r#""version":"{}""#, env!("CARGO_PKG_VERSION"))), "{health}");
    assert!(!health.contains("devstoreaccount1"), "{health}");
    for path in ["/-/", "/-/devstoreaccount1/Blogs", "/-/style.css", "/-/changes", "/-"] {
        assert_eq!(server.get(path).await.status(), 404, "{path} is switched off");
    }
}

#[tokio::test]
async fn the_page_shows_accounts_tables_and_rows_with_their_types() {
    let server = with_rows(2).await;
    let tables = server.text("/-/").await;
    for text in [
        "<h2>devstoreaccount1</h2>",
        "href=\"/-/devstoreaccount1/Blogs\"",
        "<td class=\"number\">2</td>",
    ] {
        assert!(tables.contains(text), "{text}: {tables}");
    }
    assert_eq!(server.text("/-").await, tables, "by a redirect");
    let rows = server.text("/-/devstoreaccount1/Blogs").await;
    for text in [
        "Edm.Int64",
        "Edm.Double",
        "<bdi>5.0</bdi>",
        "<html lang=\"en\">",
        "<caption>",
        "scope=\"col\"",
    ] {
        assert!(rows.contains(text), "{text}: {rows}");
    }
    for path in
        ["/-/devstoreaccount1/Nothing", "/-/nobody/Blogs", "/-/devstoreaccount1/Blogs/entity"]
    {
        assert_eq!(server.get(path).await.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn stored_text_is_escaped() {
    let server = with_rows(2).await;
    let rows = server.text("/-/devstoreaccount1/Blogs").await;
    let link = rows.split('"').find(|part| part.contains("/entity?")).unwrap();
    let entity = server.text(&link.replace("&amp;", "&")).await;
    for page in [&rows, &entity] {
        assert!(!page.contains("<script>") && !page.contains("alert('x')"), "{page}");
        assert!(
            page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;"),
            "{page}"
        );
    }
}

#[tokio::test]
async fn next_links_visit_all_rows() {
    let server = with_rows(120).await;
    let (mut path, mut rows, mut pages) = ("/-/devstoreaccount1/Blogs".to_owned(), 0, 0);
    loop {
        let page = server.text(&path).await;
        assert!(page.contains("120 rows"), "{page}");
        rows += page.matches("/entity?").count();
        pages += 1;
        let Some((_, link)) = page.split_once("<a rel=\"next\" href=\"") else { break };
        path = link.split('"').next().unwrap().replace("&amp;", "&");
    }
    assert_eq!((pages, rows), (3, 120));
}

#[tokio::test]
async fn the_last_requests_are_shown_with_their_cost() {
    let server = with_rows(120).await;
    server.client().table_named::<DynamicEntity>("Blogs").query().await.unwrap();
    let page = server.html("/-/requests").await;
    for text in [
        "The last 5 of 5 requests",
        ">CreateTable</a></th>",
        "100 operations",
        "<td class=\"bad\">table scan</td><td class=\"filter\"></td><td class=\"number\">120</td>",
        " µs</td>",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let (query, insert) = (page.find(">Query<").unwrap(), page.find(">Insert<").unwrap());
    assert!(query < insert, "newest first");
}

#[tokio::test]
async fn headers_allow_only_resources_of_the_program() {
    let server = with_rows(1).await;
    for path in ["/-/", "/-/requests", "/-/devstoreaccount1/Blogs", "/-/nothing", "/-/style.css"] {
        let reply = server.open(path).await;
        let policy = reply.headers()["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'self';"), "{path}: {policy}");
        assert!(policy.contains("script-src 'self';") && policy.contains("form-action 'self';"));
        assert_eq!(reply.headers()["x-content-type-options"], "nosniff");
    }
    // The page has no scripts or styles of its own, which the policy would block.
    let page = server.text("/-/devstoreaccount1/Blogs").await;
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains(" onclick=") && !page.contains("style=\""), "{page}");
    // A web site whose host name resolves to this machine cannot read the page.
    let answer = server.exchange(b"GET /-/ HTTP/1.1\r\nHost: evil.example\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}
