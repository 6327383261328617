//! Tests of queries on the page, of copies and of the request log.

use azure_table_client::DynamicEntity;
use azure_table_client::client::Transaction;

use crate::server::Server;

const BLOGS: &str = "/-/devstoreaccount1/Blogs";

/// A server with 130 rows in the partitions a and b. Only the first row has the property First.
async fn with_rows() -> Server {
    let server = Server::start(&[]).await;
    let table = server.table("Blogs").await;
    for partition in ["a", "b"] {
        let rows: Vec<_> = (0..65)
            .map(|at| {
                let row = DynamicEntity::new(partition, format!("{at:03}"));
                let row = row.with("Rating", at % 5).with("Rank", 100 - at);
                if (partition, at) == ("a", 0) { row.with("First", 1_i64) } else { row }
            })
            .collect();
        let insert = rows.iter().fold(table.transaction(), Transaction::insert);
        insert.await.unwrap();
    }
    server
}

fn link<'p>(page: &'p str, rel: &str) -> Option<String> {
    let (_, link): (&'p str, _) = page.split_once(&format!("<a rel=\"{rel}\" href=\""))?;
    Some(link.split('"').next()?.replace("&amp;", "&"))
}

fn keys(page: &str) -> Vec<&str> {
    page.split("/entity?").skip(1).map(|part| part.split('"').next().unwrap()).collect()
}

#[tokio::test]
async fn a_filter_selects_rows_and_shows_its_plan() {
    let server = with_rows().await;
    let page =
        server.text(&format!("{BLOGS}?filter=Rating+eq+3+and+PartitionKey+eq+%27b%27")).await;
    assert_eq!(keys(&page).len(), 13);
    assert!(page.contains("partition: the filter states the PartitionKey"), "{page}");
    assert!(page.contains("value=\"Rating eq 3 and PartitionKey eq &#39;b&#39;\""), "{page}");
    let scan = server.text(&format!("{BLOGS}?filter=Rating+eq+3")).await;
    assert_eq!(keys(&scan).len(), 26);
    assert!(scan.contains("<span class=\"bad\">table scan: the filter does not bound"), "{scan}");
    let list = server
        .text(&format!("{BLOGS}?filter=PartitionKey+eq+%27a%27+or+PartitionKey+eq+%27b%27"))
        .await;
    assert!(
        list.contains("partition range in one query; the Rust client sends 2 partitions"),
        "{list}"
    );
    let invalid = server.text(&format!("{BLOGS}?filter=Rating+%3D+3")).await;
    assert!(invalid.contains("role=\"alert\"") && keys(&invalid).is_empty(), "{invalid}");
    // The page's own queries are not in the record.
    let requests = server.html("/-/requests").await;
    assert!(requests.contains("The last 3 of 3 requests"), "{requests}");
}

#[tokio::test]
async fn pages_go_forward_and_back_and_jump_to_a_partition() {
    let server = with_rows().await;
    let first = server.text(&format!("{BLOGS}?filter=Rating+ge+0")).await;
    assert_eq!((keys(&first).len(), link(&first, "prev")), (50, None));
    let second = server.text(&link(&first, "next").unwrap()).await;
    let third = server.text(&link(&second, "next").unwrap()).await;
    assert_eq!((keys(&third).len(), link(&third, "next")), (30, None));
    let back = server.text(&link(&third, "prev").unwrap()).await;
    assert_eq!(keys(&back), keys(&second));
    let back = server.text(&link(&back, "prev").unwrap()).await;
    assert_eq!(keys(&back), keys(&first));
    assert_eq!(keys(&server.text(&link(&third, "first").unwrap()).await), keys(&first));
    let jump = server.text(&format!("{BLOGS}?from=b")).await;
    assert_eq!(keys(&jump)[0], "PartitionKey=b&amp;RowKey=000");
    assert!(jump.contains("Plan: <span>partition range"), "{jump}");
}

#[tokio::test]
async fn columns_stay_are_selected_and_sort_the_page() {
    let server = with_rows().await;
    let first = server.text(BLOGS).await;
    assert!(first.contains(">First</a>"), "{first}");
    let second = server.text(&link(&first, "next").unwrap()).await;
    assert!(second.contains(">First</a>"), "a column stays without values");
    let some = server.text(&format!("{BLOGS}?column=Rank")).await;
    assert!(some.contains(">Rank</a>") && !some.contains(">Rating</a>"), "{some}");
    assert!(some.contains("value=\"Rank\" checked>"), "{some}");
    let sorted = server.text(&format!("{BLOGS}?sort=Rank")).await;
    assert_eq!(keys(&sorted)[0], "PartitionKey=a&amp;RowKey=049");
    assert!(sorted.contains("aria-sort=\"ascending\""), "{sorted}");
    let sorted = server.text(&format!("{BLOGS}?sort=-Rank")).await;
    assert_eq!(keys(&sorted)[0], "PartitionKey=a&amp;RowKey=000");
}

#[tokio::test]
async fn rows_are_copied_and_exported() {
    let server = with_rows().await;
    let json = server.text(&format!("{BLOGS}/copy?as=json&filter=First+eq+1L")).await;
    assert!(json.contains("&quot;Rank&quot;:100,&quot;First&quot;:1}"), "{json}");
    let odata = server.text(&format!("{BLOGS}/copy?as=odata&PartitionKey=a&RowKey=000")).await;
    assert!(odata.contains("&quot;First@odata.type&quot;:&quot;Edm.Int64&quot;"), "{odata}");
    let rust = server.text(&format!("{BLOGS}/copy?as=rust")).await;
    assert!(
        rust.contains("pub struct BlogsRow {") && rust.contains("pub first: Option&lt;i64&gt;,"),
        "{rust}"
    );
    let reply = server.get(&format!("{BLOGS}/export?filter=Rating+eq+3")).await;
    assert_eq!(reply.headers()["content-type"], "text/csv; charset=utf-8");
    assert_eq!(reply.headers()["content-disposition"], "attachment; filename=\"Blogs.csv\"");
    let csv = reply.text().await.unwrap();
    assert_eq!(csv.lines().count(), 27);
    assert!(csv.starts_with("PartitionKey,RowKey,Timestamp,Rating,Rating@type,"), "{csv}");
    assert_eq!(server.get(&format!("{BLOGS}/copy?as=yaml")).await.status(), 404);
    for (site, status) in [("same-origin", 200), ("none", 200), ("cross-site", 403)] {
        let request = reqwest::Client::new().get(format!("{}{BLOGS}/export", server.origin));
        let reply = request.header("sec-fetch-site", site).send().await.unwrap();
        assert_eq!(reply.status(), status, "{site}");
    }
}

#[tokio::test]
async fn an_export_with_too_many_properties_is_refused() {
    let server = with_rows().await;
    let blogs = server.client().table_named::<DynamicEntity>("Blogs");
    for row in 0..5 {
        let mut wide = DynamicEntity::new("wide", row.to_string());
        for at in 0..250 {
            wide.set(format!("P{row}x{at}"), 1);
        }
        blogs.insert(&wide).await.unwrap();
    }
    let refused = server.text(&format!("{BLOGS}/export")).await;
    assert!(refused.contains("more than 1000 properties: select columns"), "{refused}");
    let selected = server.text(&format!("{BLOGS}/export?column=P0x1&column=P0x1")).await;
    assert!(selected.starts_with("PartitionKey,RowKey,Timestamp,P0x1,P0x1@type\r\n"));
}

#[tokio::test]
async fn a_request_is_shown_with_filter_error_and_body() {
    let server = with_rows().await;
    let table = server.client().table_named::<DynamicEntity>("Blogs");
    let row = DynamicEntity::new("a", "000").with("Text", "<b>bold");
    table.insert(&row).await.unwrap_err();
    let insert = DynamicEntity::new("a", "new");
    table.transaction().insert(&insert).insert(&row).await.unwrap_err();
    table.query().filter_text("Rating eq 3 and Rank ge 5").await.unwrap();
    let log = server.html("/-/requests").await;
    assert!(log.contains("<td class=\"number bad\">409</td><td>EntityAlreadyExists</td>"), "{log}");
    assert!(log.contains("<td class=\"filter\">Rating eq 3 and Rank ge 5</td>"), "{log}");
    let errors = server.html("/-/requests?show=errors").await;
    assert!(errors.contains("2 of the last 6 requests"), "{errors}");
    assert!(
        errors.contains(
            "<td class=\"number bad\">202</td><td>operation 1: 409 EntityAlreadyExists</td>"
        ),
        "{errors}"
    );
    let insert = server.text("/-/requests/devstoreaccount1/4").await;
    for text in [
        "The specified entity already exists.",
        "&quot;Text&quot;:&quot;&lt;b&gt;bold&quot;",
        "<h1>Insert</h1>",
    ] {
        assert!(insert.contains(text), "{text}: {insert}");
    }
    let query = server.text("/-/requests/devstoreaccount1/6").await;
    assert!(
        query.contains("href=\"/-/devstoreaccount1/Blogs?filter=Rating+eq+3+and+Rank+ge+5\""),
        "{query}"
    );
    assert_eq!(server.get("/-/requests/devstoreaccount1/7").await.status(), 404);
}

#[tokio::test]
async fn changes_are_reported_once() {
    let server = with_rows().await;
    let first = server.text("/-/changes").await;
    server.text(BLOGS).await;
    assert_eq!(server.text("/-/changes").await, first, "reading the page changes nothing");
    server.client().table_named::<DynamicEntity>("Blogs").get(("a", "000")).await.unwrap();
    assert_ne!(server.text("/-/changes").await, first);
}

#[tokio::test]
async fn text_of_a_link_is_escaped() {
    let server = with_rows().await;
    let evil = "%3Cscript%3Ealert('x')%3C/script%3E%22";
    for query in ["filter", "from", "at", "column", "sort", "back&at", "done", "as", "PartitionKey"]
    {
        for path in [BLOGS, "/-/", "/-/requests", &format!("{BLOGS}/copy")] {
            let reply = server.get(&format!("{path}?{query}={evil}")).await;
            let page = reply.text().await.unwrap();
            assert!(!page.contains("<script>") && !page.contains("alert('x')"), "{query}: {page}");
        }
    }
}
