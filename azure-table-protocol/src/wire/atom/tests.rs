use proptest::prelude::*;

use super::write::property;
use super::*;
use crate::edm::{EdmCow, EdmDateTime, EdmValue};
use crate::entity::{DecodeError, DecodeReason, DynamicEntity, Entities, Form, TableEntity};
use crate::wire::ReadError;

fn page<T: TableEntity>(body: &str) -> Result<Vec<T>, ReadError> {
    read_page(body.as_bytes(), Form::WHOLE, &Entities)
}

fn one(body: &str) -> Result<DynamicEntity, ReadError> {
    read_one(body.as_bytes(), Form::WHOLE, &Entities)
}

fn written(entity: &DynamicEntity) -> String {
    let key = entity.key();
    let mut body = Vec::new();
    super::entity(&mut body, entity, &key.partition_key, &key.row_key, None).unwrap();
    String::from_utf8(body).unwrap()
}

/// An entry with the keys and these elements as its properties.
fn entry(properties: &str) -> String {
    format!(
        "<entry xmlns='{ATOM}' xmlns:d='{DATA}' xmlns:m='{METADATA}'><content \
         type='application/xml'><m:properties><d:PartitionKey>p</d:PartitionKey>\
         <d:RowKey>r</d:RowKey>{properties}</m:properties></content></entry>"
    )
}

fn value_of(property: &str) -> EdmValue {
    let entity = one(&entry(property)).unwrap_or_else(|error| panic!("{property}: {error}"));
    entity.value("A").unwrap_or_else(|| panic!("{property}")).clone()
}

fn decode_error(property: &str) -> DecodeError {
    match one(&entry(property)) {
        Err(ReadError::Decode(error)) => error,
        other => panic!("{property}: {other:?}"),
    }
}

/// A reply in the form of 2011, with all types, a null and an element of an extension.
const FEED: &str = r#"<?xml version="1.0" encoding="utf-8" standalone="yes"?>
<feed xml:base="http://account.table.core.windows.net/" xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices" xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata" xmlns="http://www.w3.org/2005/Atom">
  <title type="text">Blogs</title>
  <id>http://account.table.core.windows.net/Blogs</id>
  <updated>2011-12-01T17:22:49Z</updated>
  <link rel="self" title="Blogs" href="Blogs" />
  <entry m:etag="W/&quot;datetime'2011-12-01T15%3A16%3A00.3401314Z'&quot;">
    <id>http://account.table.core.windows.net/Blogs(PartitionKey='Channel9',RowKey='1')</id>
    <title type="text"></title>
    <updated>2011-12-01T17:22:49Z</updated>
    <author>
      <name />
    </author>
    <link rel="edit" title="Blogs" href="Blogs(PartitionKey='Channel9',RowKey='1')" />
    <category term="account.Blogs" scheme="http://schemas.microsoft.com/ado/2007/08/dataservices/scheme" />
    <content type="application/xml">
      <m:properties>
        <d:PartitionKey>Channel9</d:PartitionKey>
        <d:RowKey>1</d:RowKey>
        <d:Timestamp m:type="Edm.DateTime">2011-12-01T15:16:00.3401314Z</d:Timestamp>
        <d:Text>a &lt;b&gt; &amp; &#233;&#x1F600; <![CDATA[<c> &amp;]]></d:Text>
        <d:Yes m:type="Edm.Boolean">true</d:Yes>
        <d:Small m:type="Edm.Int32">-5</d:Small>
        <d:Big m:type="Edm.Int64">9223372036854775807</d:Big>
        <d:Double m:type="Edm.Double">200.23</d:Double>
        <d:At m:type="Edm.DateTime">9999-12-31T23:59:59.9999999Z</d:At>
        <d:Guid m:type="Edm.Guid">c9da6455-213d-42c9-9a79-3e9149a57833</d:Guid>
        <d:Bytes m:type="Edm.Binary">AAEC/w==</d:Bytes>
        <d:None m:type="Edm.Binary" m:null="true" />
      </m:properties>
    </content>
  </entry>
  <entry>
    <content type="application/xml">
      <m:properties>
        <d:PartitionKey>Channel9</d:PartitionKey>
        <d:RowKey></d:RowKey>
        <d:Small m:type="Edm.Int32">7</d:Small>
      </m:properties>
    </content>
  </entry>
</feed>"#;

#[test]
fn a_feed_of_the_service() {
    let entities: Vec<DynamicEntity> = page(FEED).unwrap();
    let [first, second] = &entities[..] else { panic!("two entities") };
    assert_eq!(first.key().to_string(), r#"("Channel9", "1")"#);
    assert_eq!(first.etag().unwrap().as_str(), "W/\"datetime'2011-12-01T15%3A16%3A00.3401314Z'\"");
    assert_eq!(first.timestamp().unwrap().to_string(), "2011-12-01T15:16:00.3401314Z");
    let values: Vec<(&str, EdmValue)> = first.properties().map(|(n, v)| (n, v.clone())).collect();
    assert_eq!(
        values,
        [
            ("Text", EdmValue::String("a <b> & é😀 <c> &amp;".into())),
            ("Yes", EdmValue::Boolean(true)),
            ("Small", EdmValue::Int32(-5)),
            ("Big", EdmValue::Int64(i64::MAX)),
            ("Double", EdmValue::Double(200.23)),
            ("At", EdmValue::DateTime(EdmDateTime::MAX)),
            ("Guid", EdmValue::Guid("c9da6455-213d-42c9-9a79-3e9149a57833".parse().unwrap())),
            ("Bytes", EdmValue::Binary(vec![0, 1, 2, 255].into())),
        ]
    );
    assert_eq!(second.key().to_string(), r#"("Channel9", "")"#);
    assert!(second.etag().is_none() && second.timestamp().is_none());
    assert_eq!(second.properties().len(), 1);
    assert!(page::<DynamicEntity>(&format!("\u{feff}{FEED}\n <!-- end -->")).is_ok());
}

#[test]
fn namespaces_are_known_by_their_uri() {
    let renamed = FEED.replace("d:", "m:").replace("xmlns:m", "xmlns:d");
    assert!(page::<DynamicEntity>(&renamed).is_err(), "the prefixes mean nothing any more");
    let with_other_prefixes = format!(
        "<a:entry xmlns:a='{ATOM}' xmlns:x='{METADATA}' x:etag='e'><a:content><x:properties \
         xmlns='{DATA}' xmlns:m='urn:foreign' xmlns:f='urn:foreign'><PartitionKey>p</PartitionKey>\
         <RowKey>r</RowKey><f:A>foreign</f:A><x:A>metadata</x:A><a:A>atom</a:A>\
         <A m:type='Edm.Int64' type='Edm.Int64' m:null='true' x:type='Edm.Int32'>5</A></x:properties>\
         <f:properties><A>6</A></f:properties></a:content></a:entry>"
    );
    let entity = one(&with_other_prefixes).unwrap();
    assert_eq!(entity.etag().unwrap().as_str(), "e");
    assert_eq!(entity.properties().collect::<Vec<_>>(), [("A", &EdmValue::Int32(5))]);
    for foreign in [ATOM, DATA, METADATA] {
        let body = entry("").replace(foreign, "urn:foreign");
        let read = one(&body).map(|entity| entity.key().to_string());
        assert!(read.is_err(), "{foreign}: {read:?}");
    }
}

#[test]
fn what_is_not_known_is_passed_over() {
    let known = entry("<d:A>x</d:A>");
    let foreign = "<f:x xmlns:f='urn:f'>&undefined;<f:x><d:A>y</d:A></f:x></f:x><!-- c --><?p i?>";
    for place in ["<content", "<m:properties>", "<d:PartitionKey>", "</m:properties>", "</entry>"] {
        let body = known.replacen(place, &format!("{foreign}{place}"), 1);
        let entity = one(&body).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert_eq!(entity.properties().collect::<Vec<_>>(), [("A", &"x".into())], "{place}");
    }
}

#[test]
fn texts_are_kept_as_they_are() {
    for (text, expected) in [
        ("<d:A> \t x\n </d:A>", " \t x\n "),
        ("<d:A xml:space='preserve'>  </d:A>", "  "),
        ("<d:A></d:A>", ""),
        ("<d:A />", ""),
        ("<d:A m:type='Edm.String'/>", ""),
        ("<d:A>a\r\nb&#xD;\n</d:A>", "a\nb\r\n"),
        ("<d:A>a<!-- b -->c<?d e?>f</d:A>", "acf"),
        ("<d:A>&#x1;&#0;&#xFFFF;</d:A>", "\u{1}\0\u{ffff}"),
        ("<d:A><![CDATA[ ]]>]]&gt;<![CDATA[<&]]></d:A>", " ]]><&"),
        ("<d:A>&apos;&quot;</d:A>", "'\""),
        ("<d:A m:null='false'>x</d:A>", "x"),
    ] {
        assert_eq!(value_of(text), EdmValue::String(expected.into()), "{text}");
    }
}

#[test]
fn values_of_every_type_in_the_forms_of_xml() {
    for (text, expected) in [
        ("<d:A m:type='Edm.Int32'> 5\n</d:A>", EdmValue::Int32(5)),
        ("<d:A m:type='Edm.Int64'>-9223372036854775808</d:A>", EdmValue::Int64(i64::MIN)),
        ("<d:A m:type='Edm.Boolean'>1</d:A>", EdmValue::Boolean(true)),
        ("<d:A m:type='Edm.Double'>10</d:A>", EdmValue::Double(10.0)),
        ("<d:A m:type='Edm.Double'>INF</d:A>", EdmValue::Double(f64::INFINITY)),
        ("<d:A m:type='Edm.Double'>-INF</d:A>", EdmValue::Double(f64::NEG_INFINITY)),
        ("<d:A m:type='Edm.Double'>NaN</d:A>", EdmValue::Double(f64::NAN)),
        ("<d:A m:type='Edm.Double'>1.5E+300</d:A>", EdmValue::Double(1.5e300)),
        ("<d:A m:type='Edm.Binary'>\n AAEC\n /w==\n</d:A>", vec![0, 1, 2, 255].into()),
        ("<d:A m:type='Edm.Binary'/>", vec![].into()),
    ] {
        assert_eq!(value_of(text), expected, "{text}");
    }
    let null = one(&entry("<d:A m:null='true'>5</d:A><d:B m:null='1'/>")).unwrap();
    assert_eq!(null.properties().len(), 0);
}

#[test]
fn what_is_wrong_with_one_property_is_said_of_it() {
    for (text, reason) in [
        (
            "<d:A m:type='Edm.Int64'>5x</d:A>",
            "expected Edm.Int64, found \"5x\", which is wrong at offset 1",
        ),
        ("<d:A m:type='Edm.Int32'/>", "expected Edm.Int32, found \"\", which is wrong at offset 0"),
        ("<d:A m:type='Edm.Byte'>5</d:A>", "annotated with an unknown Edm type"),
        ("<d:A><d:B>5</d:B></d:A>", "an object or an array instead of a value"),
    ] {
        let error = decode_error(text).to_string();
        assert_eq!(error, format!(r#"property "A" of entity ("p", "r"): {reason}"#));
    }
    let error = decode_error("<d:A>ab&#xD800;</d:A>");
    assert_eq!(error.reason(), &DecodeReason::NoUnicode { offset: 2 });
}

#[test]
fn what_is_no_atom_is_refused() {
    let deep = "<a>".repeat(100_000);
    let bomb = "<!DOCTYPE entry [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]>";
    let crowded = format!(
        "<entry xmlns='{ATOM}' {}/>",
        (0..200).map(|n| format!("xmlns:n{n}='u' ")).collect::<Vec<_>>().concat()
    );
    let many: Vec<_> = (0..1100).map(|n| format!("<d:P{n}>1</d:P{n}>")).collect();
    let whole = entry("<d:A>x</d:A>");
    for body in [
        "",
        " ",
        "{}",
        "<",
        "<entry/>",
        "<feed/>",
        "text",
        "<html><body>502</body></html>",
        FEED,
        &deep,
        &crowded,
        &entry(&many.concat()),
        &entry("<d:A>&undefined;</d:A>"),
        &entry("<d:A>&#x110000;</d:A>"),
        &entry("<d:A>&amp</d:A>"),
        &entry("<d:A>x</d:B>"),
        &entry("<d:A m:type=Edm.Int32>x</d:A>"),
        &entry("<d:A m:type='&x;'>x</d:A>"),
        &entry(&deep),
        &format!("{bomb}{}", entry("<d:A>&b;</d:A>")),
        &format!("{whole}{whole}"),
        &format!("{whole}x"),
        &format!("x{whole}"),
        &format!("{whole}&amp;"),
        &whole[..whole.len() - 1],
        &whole[..whole.len() - 8],
    ] {
        assert!(matches!(one(body), Err(ReadError::Atom(_))), "{}", &body[..body.len().min(200)]);
    }
    assert!(matches!(page::<DynamicEntity>(&whole), Err(ReadError::Atom(_))));
    assert!(read_one::<DynamicEntity>(b"\xff", Form::WHOLE, &Entities).is_err());
}

#[test]
fn a_tag_with_very_many_attributes_takes_no_longer_than_its_length() {
    let attributes: Vec<_> = (0..200_000).map(|n| format!("a{n}=''")).collect();
    let body = entry(&format!("<d:A {}>x</d:A>", attributes.join(" ")));
    let start = std::time::Instant::now();
    assert_eq!(one(&body).unwrap().value("A"), Some(&"x".into()));
    // Compared with one another they would take minutes.
    assert!(start.elapsed() < std::time::Duration::from_secs(10));
}

#[test]
fn a_request_as_it_is_written() {
    let mut entity = DynamicEntity::new("it's", "<r>");
    entity
        .set("Text", "a\u{1}é\r\n ]]>")
        .set("Yes", true)
        .set("Small", i32::MIN)
        .set("Big", i64::MIN)
        .set("Whole", 5.0)
        .set("Huge", 1e300)
        .set("Inf", f64::NEG_INFINITY)
        .set("At", EdmDateTime::MIN)
        .set("Guid", uuid::Uuid::nil())
        .set("Bytes", vec![255_u8, 0])
        .set("Blank", " x");
    assert_eq!(
        written(&entity),
        concat!(
            r#"<?xml version="1.0" encoding="utf-8" standalone="yes"?>"#,
            r#"<entry xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices" "#,
            r#"xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata" "#,
            r#"xmlns="http://www.w3.org/2005/Atom"><title /><author><name /></author><id />"#,
            r#"<content type="application/xml"><m:properties>"#,
            "<d:PartitionKey>it's</d:PartitionKey><d:RowKey>&lt;r&gt;</d:RowKey>",
            "<d:Text>a&#x1;é&#xD;\n ]]&gt;</d:Text>",
            r#"<d:Yes m:type="Edm.Boolean">true</d:Yes>"#,
            r#"<d:Small m:type="Edm.Int32">-2147483648</d:Small>"#,
            r#"<d:Big m:type="Edm.Int64">-9223372036854775808</d:Big>"#,
            r#"<d:Whole m:type="Edm.Double">5.0</d:Whole>"#,
            r#"<d:Huge m:type="Edm.Double">1e300</d:Huge>"#,
            r#"<d:Inf m:type="Edm.Double">-INF</d:Inf>"#,
            r#"<d:At m:type="Edm.DateTime">1601-01-01T00:00:00.0000000Z</d:At>"#,
            r#"<d:Guid m:type="Edm.Guid">00000000-0000-0000-0000-000000000000</d:Guid>"#,
            r#"<d:Bytes m:type="Edm.Binary">/wA=</d:Bytes>"#,
            r#"<d:Blank xml:space="preserve"> x</d:Blank>"#,
            "</m:properties></content></entry>",
        )
    );
    assert_eq!(one(&written(&entity)).unwrap(), entity);
}

fn any_value() -> impl Strategy<Value = EdmValue> {
    prop_oneof![
        any::<String>().prop_map(EdmValue::String),
        "[ \t\r\n<>&\"'\u{1}\u{fffe}\u{ffff}\\]a]{0,8}".prop_map(EdmValue::String),
        any::<bool>().prop_map(EdmValue::Boolean),
        any::<i32>().prop_map(EdmValue::Int32),
        any::<i64>().prop_map(EdmValue::Int64),
        any::<f64>().prop_map(EdmValue::Double),
        (EdmDateTime::MIN.ticks()..=EdmDateTime::MAX.ticks())
            .prop_map(|ticks| EdmValue::DateTime(EdmDateTime::from_ticks(ticks).unwrap())),
        any::<u128>().prop_map(|bits| EdmValue::Guid(uuid::Uuid::from_u128(bits))),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(EdmValue::from),
    ]
}

/// Marked as a token of XML, so that random documents are often nearly right.
const TOKENS: [&str; 22] = [
    "<entry>",
    "</entry>",
    "<feed>",
    "</feed>",
    "<content>",
    "</content>",
    "<m:properties>",
    "</m:properties>",
    "<d:A>",
    "</d:A>",
    "<d:A m:type='Edm.Int32'>",
    "<d:A m:null='true'/>",
    "&lt;",
    "&#1;",
    "&",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "x",
    "<?",
    "<!DOCTYPE x>",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn every_entity_is_read_as_it_was_written(
        partition_key in "[^/\\\\#?\\p{Cc}]{0,12}",
        row_key in "[^/\\\\#?\\p{Cc}]{0,12}",
        values in proptest::collection::vec(any_value(), 0..12),
    ) {
        let mut entity = DynamicEntity::new(partition_key, row_key);
        for (n, value) in values.into_iter().enumerate() {
            entity.set(format!("É{n}"), value);
        }
        let body = written(&entity);
        prop_assert_eq!(&one(&body).unwrap(), &entity);
        let start = body.find("<entry").unwrap();
        let feed = format!("<feed xmlns='{ATOM}'>{0}<x/>{0}</feed>", &body[start..]);
        prop_assert_eq!(page::<DynamicEntity>(&feed).unwrap(), [entity.clone(), entity]);
    }

    #[test]
    fn every_property_of_the_service_is_read_as_it_is_stored(value in any_value()) {
        let mut out = Vec::new();
        property(&mut out, "A", &value.as_cow());
        prop_assert_eq!(value_of(std::str::from_utf8(&out).unwrap()), value);
    }

    #[test]
    fn nothing_panics(
        tokens in proptest::collection::vec(proptest::sample::select(&TOKENS[..]), 0..30),
        cut in any::<proptest::sample::Index>(),
        noise in any::<u8>(),
    ) {
        let inner = tokens.concat();
        let body = format!("<feed xmlns='{ATOM}' xmlns:d='{DATA}' xmlns:m='{METADATA}'>{inner}</feed>");
        let _ = page::<DynamicEntity>(&body);
        let _ = one(&entry(&inner));
        let mut bytes = FEED.as_bytes().to_vec();
        let at = cut.index(bytes.len());
        bytes[at] = noise;
        let _ = read_page::<DynamicEntity>(&bytes, Form::WHOLE, &Entities);
        let _ = read_page::<DynamicEntity>(&FEED.as_bytes()[..at], Form::WHOLE, &Entities);
    }
}

#[test]
fn a_borrowed_value_is_written_as_a_property() {
    let mut out = Vec::new();
    property(&mut out, "B", &EdmCow::Int32(5));
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text, r#"<d:B m:type="Edm.Int32">5</d:B>"#);
}
