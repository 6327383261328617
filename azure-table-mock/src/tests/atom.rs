//! The service versions that have Atom.

mod versions;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::*;
use crate::edm::EdmValue;
use crate::entity::DynamicEntity;
use crate::entity::{Entities, Form};
use crate::wire::atom::{ATOM, DATA, METADATA, read_one, read_page};

const V2009: (&str, &str) = ("x-ms-version", "2009-04-14");
const V2011: (&str, &str) = ("x-ms-version", "2011-08-18");
const V2013: (&str, &str) = ("x-ms-version", "2013-08-15");
const ATOM_BODY: (&str, &str) = ("content-type", "application/atom+xml");
const ROW: &str = "/Blogs(PartitionKey='Channel9',RowKey='1')";

/// An Atom document that the REST reference shows for [Create Table][create], [Query Tables][tables], [Insert
/// Entity][insert], [Query Entities][query] or [entity group transactions][batch].
///
/// The XML errors of the reference are corrected: quotes in ETags, end tags of another name, and the namespace of Atom
/// where the page has it with `https`. The batch of the page has an update without `If-Match`, and no lengths; the file has
/// both. The reply to Query Entities has the null that the page mentions, and the time of the reply to Insert Entity has its
/// zone.
///
/// [create]: https://learn.microsoft.com/rest/api/storageservices/create-table
/// [tables]: https://learn.microsoft.com/rest/api/storageservices/query-tables
/// [insert]: https://learn.microsoft.com/rest/api/storageservices/insert-entity
/// [query]: https://learn.microsoft.com/rest/api/storageservices/query-entities
/// [batch]: https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions
macro_rules! example {
    ($name:literal) => {
        include_str!(concat!("../../../azure-table-protocol/src/wire/atom/examples/", $name))
    };
}

fn entry(properties: &str) -> String {
    format!(
        "<entry xmlns:d='{DATA}' xmlns:m='{METADATA}' xmlns='{ATOM}'><content \
         type='application/xml'><m:properties>{properties}</m:properties></content></entry>"
    )
}

fn row(row_key: &str, properties: &str) -> String {
    let keys = "<d:PartitionKey>Channel9</d:PartitionKey>";
    entry(&format!("{keys}<d:RowKey>{row_key}</d:RowKey>{properties}"))
}

fn text(response: &HttpResponse) -> &str {
    std::str::from_utf8(&response.body).unwrap()
}

fn header<'r>(response: &'r HttpResponse, name: &str) -> Option<&'r str> {
    response.headers.get(name).map(|value| value.to_str().unwrap())
}

#[track_caller]
fn entities(response: &HttpResponse) -> Vec<DynamicEntity> {
    assert_eq!(response.status, 200, "{}", text(response));
    assert_eq!(header(response, "content-type"), Some("application/atom+xml;charset=utf-8"));
    read_page(&response.body, Form::WHOLE, &Entities).unwrap()
}

#[track_caller]
fn entity(response: &HttpResponse) -> DynamicEntity {
    assert!(response.status.is_success(), "{}", text(response));
    assert_eq!(header(response, "content-type"), Some("application/atom+xml;charset=utf-8"));
    read_one(&response.body, Form::WHOLE, &Entities).unwrap()
}

#[track_caller]
fn refused(response: &HttpResponse, status: u16, expected: &str) {
    assert_eq!(code(response), (status, expected.to_owned()), "{}", text(response));
    assert_eq!(header(response, "content-type"), Some("application/xml"));
    assert!(text(response).starts_with("<?xml version=\"1.0\" encoding=\"utf-8\""));
}

/// The elements of a document in order, each with the names of its attributes.
fn shape(document: &str) -> Vec<String> {
    let mut reader = Reader::from_str(document);
    reader.config_mut().expand_empty_elements = true;
    let mut elements = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) => {
                let names = start.attributes().map(|attribute| attribute.unwrap().key.0.to_owned());
                let mut names: Vec<_> = names.collect();
                names.sort();
                elements.push(format!("{} {}", start.name().0, names.join(" ")));
            }
            Event::Eof => return elements,
            _ => {}
        }
    }
}

#[test]
fn examples_of_the_reference_are_accepted() {
    let service = TableService::builder().loose(true).build();
    let post = |path: &str, body: &str| send(&service, "POST", path, &[V2013, ATOM_BODY], body);
    let created = post("/Tables", example!("create_table_request.xml"));
    assert_eq!(created.status, 201, "{}", text(&created));
    assert_eq!(shape(text(&created)), shape(example!("create_table_reply.xml")));

    let tables = send(&service, "GET", "/Tables", &[V2013], "");
    assert_eq!(shape(text(&tables)), shape(example!("query_tables_reply.xml")));

    let inserted = post("/mytable", example!("insert_entity_request.xml"));
    assert_eq!(inserted.status, 201, "{}", text(&inserted));
    assert_eq!(shape(text(&inserted)), shape(example!("insert_entity_reply.xml")));
    let documented: DynamicEntity =
        read_one(example!("insert_entity_reply.xml").as_bytes(), Form::WHOLE, &Entities).unwrap();
    assert!(entity(&inserted).properties().eq(documented.properties()));
    assert_eq!(documented.etag().unwrap().as_str(), "W/\"0x5B168C7B6E589D2\"");

    let customers = example!("query_entities_reply.xml").as_bytes();
    let customers: Vec<DynamicEntity> = read_page(customers, Form::WHOLE, &Entities).unwrap();
    assert_eq!(customers[0].key().to_string(), r#"("Customer", "Name")"#);
    assert_eq!(customers[0].properties().len(), 1, "nulls are not stored");
}

#[test]
fn the_batch_of_the_reference_is_accepted() {
    let service = loose();
    let path = "/Blogs(PartitionKey='Channel_19',RowKey='3')";
    assert_eq!(send(&service, "PUT", path, &[], r#"{"Old":true}"#).status, 204);
    let boundary = "multipart/mixed; boundary=batch_a1e9d677-b28b-435e-a89e-87e6a768a431";
    let body = example!("batch_request.txt")
        .replace("https://myaccount.table.core.windows.net", "/devstoreaccount1");
    let headers =
        [V2013, ("content-type", boundary), ("accept", "application/atom+xml,application/xml")];
    let reply = send(&service, "POST", "/$batch", &headers, &body);
    assert_eq!(reply.status, 202);
    assert_eq!(text(&reply).matches("HTTP/1.1 204 No Content").count(), 3, "{}", text(&reply));
    assert_eq!(text(&reply).matches("Preference-Applied: return-no-content").count(), 2);
    let query = "/Blogs()?$filter=PartitionKey%20eq%20'Channel_19'";
    let rows = entities(&send(&service, "GET", query, &[V2013], ""));
    let texts: Vec<_> =
        rows.iter().map(|row| row.get::<String>("Text").unwrap().unwrap()).collect();
    assert_eq!(texts, [".NET...", "Azure...", "PDC 2008..."]);
    assert_eq!(rows[2].value("Old"), Some(&EdmValue::Boolean(true)));
}

/// Tables at the version of the paper.
#[test]
fn table_operations_support_atom() {
    let service = TableService::builder().loose(true).build();
    let create = |name: &str| {
        let headers = [V2009, ATOM_BODY, ("prefer", "return-no-content")];
        send(
            &service,
            "POST",
            "/Tables",
            &headers,
            &entry(&format!("<d:TableName>{name}</d:TableName>")),
        )
    };
    let created = create("Blogs");
    assert_eq!(created.status, 201, "there is no Prefer yet");
    assert_eq!(
        header(&created, "location"),
        Some("http://127.0.0.1:1/devstoreaccount1/Tables('Blogs')")
    );
    assert_eq!(header(&created, "preference-applied"), None);
    assert_eq!(header(&created, "x-ms-version"), None, "versions say theirs from 2009-09-19");
    assert!(
        text(&created).contains("<id>http://127.0.0.1:1/devstoreaccount1/Tables('Blogs')</id>")
    );
    assert!(text(&created).contains("<category term=\"devstoreaccount1.Tables\""));
    refused(&create("blogs"), 409, "TableAlreadyExists");
    refused(&create("x"), 400, "OutOfRangeInput");
    refused(
        &send(&service, "POST", "/Tables", &[V2009, ATOM_BODY], &entry("")),
        400,
        "PropertiesNeedValue",
    );
    create("Channels");
    let page = send(&service, "GET", "/Tables?$top=1", &[V2009], "");
    assert!(text(&page).contains("<d:TableName>Blogs</d:TableName>"));
    let next = header(&page, "x-ms-continuation-nexttablename").unwrap();
    let page = send(&service, "GET", &format!("/Tables?NextTableName={next}"), &[V2009], "");
    assert!(text(&page).contains("<d:TableName>Channels</d:TableName>"));
    assert_eq!(send(&service, "DELETE", "/Tables('Channels')", &[V2009], "").status, 204);
    let one = send(&service, "GET", "/Tables('Blogs')", &[V2009], "");
    assert!(text(&one).contains("<d:TableName>Blogs</d:TableName>"));
    refused(&send(&service, "GET", "/Tables('Channels')", &[V2009], ""), 404, "ResourceNotFound");
}

/// An entity's life at the version of the paper.
#[test]
fn entity_operations_support_atom() {
    let service = loose();
    let atom = [V2009, ATOM_BODY];
    let body = row(
        "1",
        "<d:Text>a &lt;b&gt; &#233;&#x1;</d:Text><d:Rating m:type='Edm.Int32'>3</d:Rating>",
    );
    let inserted = send(&service, "POST", "/Blogs", &atom, &body);
    assert_eq!(inserted.status, 201);
    let echo = entity(&inserted);
    assert_eq!(
        echo.etag().map(|etag| etag.as_str().to_owned()).as_deref(),
        header(&inserted, "etag")
    );
    assert_eq!(echo.value("Text"), Some(&"a <b> é\u{1}".into()));
    assert!(echo.timestamp().is_some());
    for part in [
        "<entry xml:base=\"http://127.0.0.1:1/devstoreaccount1/\"",
        "<title type=\"text\"></title>",
        "<link rel=\"edit\" title=\"Blogs\" href=\"Blogs(PartitionKey=",
        "<category term=\"devstoreaccount1.Blogs\"",
    ] {
        assert!(text(&inserted).contains(part), "{part}: {}", text(&inserted));
    }
    refused(&send(&service, "POST", "/Blogs", &atom, &body), 409, "EntityAlreadyExists");
    refused(&send(&service, "POST", "/Blogs", &atom, "<entry/>"), 400, "InvalidInput");
    refused(&send(&service, "POST", "/Blogs", &atom, &entry("")), 400, "PropertiesNeedValue");

    let read = send(&service, "GET", ROW, &[V2009], "");
    assert_eq!(entity(&read), echo);
    assert_eq!(header(&read, "etag"), header(&inserted, "etag"));
    refused(
        &send(&service, "GET", "/Blogs(PartitionKey='a',RowKey='b')", &[V2009], ""),
        404,
        "ResourceNotFound",
    );

    let change = |verb: &str, condition: &str, properties: &str| {
        let headers = [V2009, ATOM_BODY, ("if-match", condition)];
        let headers = if condition.is_empty() { &headers[..2] } else { &headers[..] };
        send(&service, verb, ROW, headers, &row("1", properties))
    };
    let rating = "<d:Rating m:type='Edm.Int32'>4</d:Rating><d:None m:null='true'/>";
    refused(&change("MERGE", "", rating), 400, "InvalidInput");
    refused(&change("PUT", "", rating), 400, "InvalidInput");
    refused(&change("DELETE", "", ""), 400, "MissingRequiredHeader");
    refused(&change("PATCH", "*", rating), 405, "UnsupportedHttpVerb");
    let merged = change("MERGE", "*", rating);
    assert_eq!((merged.status.as_u16(), text(&merged)), (204, ""));
    let current = entity(&send(&service, "GET", ROW, &[V2009], ""));
    assert_eq!(current.properties().len(), 2);
    assert_eq!(current.value("Rating"), Some(&4.into()));
    let stale = header(&inserted, "etag").unwrap();
    refused(&change("PUT", stale, rating), 412, "UpdateConditionNotSatisfied");
    let replaced =
        change("PUT", current.etag().unwrap().as_str(), "<d:Big m:type='Edm.Int64'>5</d:Big>");
    assert_eq!(replaced.status, 204);
    let current = entity(&send(&service, "GET", ROW, &[V2009], ""));
    assert_eq!(current.properties().collect::<Vec<_>>(), [("Big", &EdmValue::Int64(5))]);
    assert_eq!(change("DELETE", header(&replaced, "etag").unwrap(), "").status, 204);
    refused(&change("PUT", "*", rating), 404, "ResourceNotFound");
}

#[test]
fn query_responses_support_atom() {
    let service = loose();
    let empty = send(&service, "GET", "/Blogs()", &[V2009], "");
    assert!(entities(&empty).is_empty() && text(&empty).contains("<author>"));
    for n in 1..=5 {
        let body = row(&n.to_string(), &format!("<d:Rating m:type='Edm.Int32'>{n}</d:Rating>"));
        assert_eq!(send(&service, "POST", "/Blogs", &[V2009, ATOM_BODY], &body).status, 201);
    }
    let filter = "$filter=Rating%20gt%201&$top=2";
    let (mut path, mut ratings) = (format!("/Blogs()?{filter}"), Vec::new());
    loop {
        let page = send(&service, "GET", &path, &[V2009], "");
        ratings
            .extend(entities(&page).iter().map(|row| row.get::<i32>("Rating").unwrap().unwrap()));
        let Some(next) = header(&page, "x-ms-continuation-nextrowkey") else { break };
        let partition = header(&page, "x-ms-continuation-nextpartitionkey").unwrap();
        path = format!("/Blogs()?{filter}&NextPartitionKey={partition}&NextRowKey={next}");
    }
    assert_eq!(ratings, [2, 3, 4, 5]);
    refused(&send(&service, "GET", "/Blogs()?$filter=x%20eq", &[V2009], ""), 400, "InvalidInput");
    refused(&send(&service, "GET", "/Nothing()", &[V2009], ""), 404, "TableNotFound");
    refused(&send(&service, "GET", "/Blogs()?$select=Rating", &[V2009], ""), 400, "InvalidInput");

    let selected = send(&service, "GET", "/Blogs()?$select=Rating,Text&$top=1", &[V2011], "");
    assert!(text(&selected).contains("<m:properties><d:Rating m:type=\"Edm.Int32\">1</d:Rating><d:Text m:null=\"true\" /></m:properties>"));
    assert!(text(&selected).contains("<entry m:etag=\"W/&quot;datetime'"));
    let injected = "/Blogs()?$select=%3Cx%3E";
    refused(&send(&service, "GET", injected, &[V2011], ""), 400, "InvalidInput");
}
