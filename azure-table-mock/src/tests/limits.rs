//! Limits, scans and malformed requests.

use super::*;

#[test]
fn point_reads_and_ranges_scan_only_the_needed_rows() {
    let service = loose();
    for n in 0..100 {
        let path = format!("/Blogs(PartitionKey='{}',RowKey='{n:02}')", n % 4);
        send(&service, "PUT", &path, &[], "{}");
    }
    let scan = |path: &str| {
        let path = path.replace(' ', "%20");
        assert_eq!(send(&service, "GET", &path, &[], "").status, 200, "{path}");
        let last = service.requests().last().unwrap();
        (last.plan.unwrap(), last.scanned_rows)
    };
    assert_eq!(scan("/Blogs(PartitionKey='3',RowKey='03')"), (PlanKind::Point, 1));
    let of = |filter: &str| scan(&format!("/Blogs()?$filter={filter}"));
    assert_eq!(of("PartitionKey eq '3' and RowKey eq '03'"), (PlanKind::Point, 1));
    assert_eq!(of("PartitionKey eq '3' and RowKey eq 'no'"), (PlanKind::Point, 0));
    assert_eq!(of("PartitionKey eq '3' and RowKey lt '20'"), (PlanKind::RowRange, 5));
    assert_eq!(of("PartitionKey eq '3'"), (PlanKind::Partition, 25));
    assert_eq!(of("PartitionKey gt '1' and PartitionKey le '3'"), (PlanKind::PartitionRange, 50));
    assert_eq!(of("RowKey eq '03'"), (PlanKind::TableScan, 100));
    assert_eq!(service.requests().table_scans(), 1);
    assert_eq!(service.requests().scanned_rows(), 182);
}

#[test]
fn the_key_limit_can_be_lowered() {
    let put = |service: &TableService, units: usize| {
        send(service, "POST", "/Tables", &[], r#"{"TableName":"Blogs"}"#);
        let path = format!("/Blogs(PartitionKey='p',RowKey='{}')", "k".repeat(units));
        code(&send(service, "PUT", &path, &[], "{}"))
    };
    let lower = TableService::builder().loose(true).max_key_units(512).build();
    for (service, limit) in [(loose(), 1024), (lower, 512)] {
        assert_eq!(put(&service, limit).0, 204);
        assert_eq!(put(&service, limit + 1), (400, "KeyValueTooLarge".into()));
    }
}

#[test]
fn a_filter_as_long_as_a_url_is_evaluated() {
    let service = loose();
    send(&service, "PUT", "/Blogs(PartitionKey='p',RowKey='r')", &[], r#"{"A":777}"#);
    let get = |numbers| {
        let filter: Vec<String> = (0..=numbers).map(|n| format!("A%20eq%20{n}")).collect();
        let path = format!("/Blogs()?$filter={}", filter.join("%20or%20"));
        send(&service, "GET", &path, &[], "")
    };
    assert!(String::from_utf8_lossy(&get(777).body).contains("777"));
    assert_eq!(get(1_000).status, 414);
}

#[test]
fn the_number_of_comparisons_can_be_limited() {
    let service = TableService::builder().loose(true).max_comparisons(2).build();
    send(&service, "POST", "/Tables", &[], r#"{"TableName":"Blogs"}"#);
    let query = |filter: &str| {
        let path = format!("/Blogs()?$filter={}", filter.replace(' ', "%20"));
        send(&service, "GET", &path, &[], "").status.as_u16()
    };
    assert_eq!(query("A eq 1 and B eq 2"), 200);
    assert_eq!(query("A eq 1 and B eq 2 or not (C eq 3)"), 400);
}

#[test]
fn literals_match_their_own_type_only_if_the_builder_says_so() {
    let rows = r#"{"Rows":[
        {"PartitionKey":"p","RowKey":"int32","A":10},
        {"PartitionKey":"p","RowKey":"int64","A@odata.type":"Edm.Int64","A":"10"},
        {"PartitionKey":"p","RowKey":"double","A":10.5},
        {"PartitionKey":"p","RowKey":"text","A":"10"}
    ]}"#;
    let found = |is_exact: bool, filter: &str| {
        let builder = TableService::builder().loose(true).max_comparisons(1);
        let service = builder.exact_types(is_exact).build();
        service.seed_json(rows).unwrap();
        let path = format!("/Rows()?$filter={}", filter.replace(' ', "%20"));
        let page = send(&service, "GET", &path, &[], "");
        let page: serde_json::Value = serde_json::from_slice(&page.body).unwrap();
        let keys =
            page["value"].as_array().unwrap().iter().map(|row| row["RowKey"].as_str().unwrap());
        keys.collect::<Vec<_>>().join(" ")
    };
    for (filter, exact, ordered) in [
        ("A ge 10", "int32", "double int32 int64"),
        ("A eq 10", "int32", "int32 int64"),
        ("A ne 10", "", "double text"),
        ("not (A lt 11)", "double int64 text", ""),
        ("10 le A", "int32", "double int32 int64"),
        ("A ge 10L", "int64", "double int64"),
        ("A ge 10.0", "double", "double"),
        ("A ne ''", "text", "double int32 int64 text"),
    ] {
        assert_eq!(found(true, filter), exact, "{filter}");
        assert_eq!(found(false, filter), ordered, "{filter}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sized(500, 2000)))]

    #[test]
    fn no_request_panics(
        method in "GET|POST|PUT|MERGE|DELETE|PATCH|HEAD|X",
        path in "(/Blogs|/Tables|/)?(\\(|\\)|PartitionKey='|',RowKey='|%27|%|é|[a-z']){0,8}(\\?(\\$filter=|\\$top=|NextRowKey=|comp=)[!$-;=?-~]{0,20})?",
        accept in "[ -~]{0,30}",
        body in prop_oneof!["[ -~]{0,60}", "\\{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"[a-zA-Z@.]{1,12}\":[ -~]{0,20}\\}"],
    ) {
        let service = loose();
        let response = send(&service, &method, &path, &[("accept", accept.trim()), ("if-match", "*")], &body);
        prop_assert!(response.status.as_u16() >= 200);
    }

    #[test]
    fn no_bytes_panic(
        loose in any::<bool>(),
        method in "GET|POST|PUT|MERGE|DELETE",
        // The characters of URIs, and encoded bytes; hosts refuse others.
        url in "([!$-;=?-_a-z|~é]|%[0-9A-F]{2}){0,60}",
        below in any::<bool>(),
        names in proptest::collection::vec(0..NAMES.len(), 0..5),
        values in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..30), 5),
        body in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let service = TableService::builder().loose(loose).build();
        let headers = names.iter().zip(values).filter_map(|(name, value)| {
            let value = http::HeaderValue::from_bytes(&value).ok()?;
            Some((http::HeaderName::from_static(NAMES[*name]), value))
        });
        let base = if below { "http://127.0.0.1/devstoreaccount1/" } else { "http://127.0.0.1/" };
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = HttpRequest::new(method, format!("{base}{url}").parse().unwrap());
        let response =
            service.respond(&HttpRequest { headers: headers.collect(), body: body.into(), ..request });
        prop_assert!(loose || [400, 403, 404].contains(&response.status.as_u16()));
    }
}

const NAMES: [&str; 9] = [
    "accept",
    "authorization",
    "content-type",
    "if-match",
    "prefer",
    "x-http-method",
    "x-ms-client-request-id",
    "x-ms-date",
    "x-ms-version",
];
