use super::super::failure::Failure;
use super::*;

const NEW: Option<ServiceVersion> = Some(ServiceVersion::V2019_02_02);
const OLD: Option<ServiceVersion> = Some(ServiceVersion::V2012_02_12);

fn update(body: &str) -> Result<ServiceProperties, Failure> {
    let mut properties = ServiceProperties::default();
    let body = format!("<StorageServiceProperties>{body}</StorageServiceProperties>");
    properties.update(body.as_bytes(), NEW)?;
    Ok(properties)
}

fn written(properties: &ServiceProperties, version: Option<ServiceVersion>) -> String {
    let text = String::from_utf8(properties.write(version)).unwrap();
    text.strip_prefix("\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>").unwrap().to_owned()
}

const KEPT: &str = "<RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy>";
const NOT_KEPT: &str = "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>";
const LOGGING: &str =
    "<Version>1.0</Version><Read>true</Read><Write>false</Write><Delete>true</Delete>";

fn logging(inner: &str) -> String {
    format!("<Logging>{inner}</Logging>")
}

fn cors_rule(methods: &str, origins: &str, allowed: &str, exposed: &str, age: &str) -> String {
    format!(
        "<CorsRule><AllowedMethods>{methods}</AllowedMethods><AllowedOrigins>{origins}</AllowedOrigins>\
         <AllowedHeaders>{allowed}</AllowedHeaders><ExposedHeaders>{exposed}</ExposedHeaders>\
         <MaxAgeInSeconds>{age}</MaxAgeInSeconds></CorsRule>"
    )
}

fn cors(rules: &str) -> String {
    format!("<Cors>{rules}</Cors>")
}

#[test]
fn the_defaults_equal_a_new_account() {
    let metrics = format!(
        "<Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>{KEPT}"
    );
    let logging = format!(
        "<Logging><Version>1.0</Version><Read>false</Read><Write>false</Write><Delete>false</Delete>{NOT_KEPT}</Logging>"
    );
    let properties = ServiceProperties::default();
    assert_eq!(
        written(&properties, NEW),
        format!(
            "<StorageServiceProperties>{logging}<HourMetrics>{metrics}</HourMetrics>\
             <MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled>{NOT_KEPT}</MinuteMetrics>\
             <Cors /></StorageServiceProperties>"
        )
    );
    assert_eq!(
        written(&properties, OLD),
        format!(
            "<StorageServiceProperties>{logging}<Metrics>{metrics}</Metrics></StorageServiceProperties>"
        )
    );
}

#[test]
fn missing_settings_are_kept() {
    let rule = cors_rule("GET,PUT", "http://a,http://b", "x-ms-meta-*,Accept", "*", "500");
    let first = update(&(cors(&rule) + &logging(&format!("{LOGGING}{KEPT}")))).unwrap();
    let text = written(&first, NEW);
    assert!(text.contains(&format!("<Logging>{LOGGING}{KEPT}</Logging>")), "{text}");
    let in_order = rule.replace("x-ms-meta-*,Accept", "Accept,x-ms-meta-*");
    assert!(text.contains(&cors(&in_order)), "{text}");

    let mut second = first.clone();
    second.update(b"<StorageServiceProperties />", NEW).unwrap();
    assert_eq!(second, first);
    second.update(b"<StorageServiceProperties><Cors /></StorageServiceProperties>", NEW).unwrap();
    assert_eq!(second, ServiceProperties { cors: vec![], ..first.clone() });
    // The service accepts the document that it returns.
    let mut third = ServiceProperties::default();
    third.update(&first.write(NEW), NEW).unwrap();
    assert_eq!(third, first);
}

#[test]
fn invalid_settings_change_nothing() {
    let metrics = |inner: &str| format!("<HourMetrics>{inner}</HourMetrics>");
    let xml = Failure::invalid_xml();
    let many = |count: usize, entry: &str| vec![entry; count].join(",");
    let long = "x".repeat(257);
    for (body, failure) in [
        ("text".into(), &xml),
        ("<Other/>".into(), &xml),
        ("<Metrics/>".into(), &xml),
        ("<DefaultServiceVersion>2013-08-15</DefaultServiceVersion>".into(), &xml),
        (cors("") + &cors(""), &xml),
        (logging(""), &xml),
        (logging(LOGGING), &xml),
        (logging(&format!("{LOGGING}{KEPT}").replace("1.0", "2.0")), &xml),
        (logging(&format!("{LOGGING}{KEPT}").replace("<Read>true", "<Read>yes")), &xml),
        (logging(&format!("{LOGGING}{KEPT}<Read>true</Read>")), &xml),
        (logging(&format!("{LOGGING}{KEPT}").replace(">7<", ">0<")), &xml),
        (logging(&format!("{LOGGING}{KEPT}").replace(">7<", ">366<")), &xml),
        (logging(&format!("{LOGGING}{KEPT}").replace(">7<", ">a week<")), &xml),
        (logging(&format!("{LOGGING}{KEPT}").replace("<Days>7</Days>", "")), &xml),
        (logging(&format!("{LOGGING}{KEPT}").replace("<Enabled>true", "<Enabled>false")), &xml),
        (metrics(&format!("<Version>1.0</Version><Enabled>true</Enabled>{KEPT}")), &xml),
        (
            metrics(&format!(
                "<Version>1.0</Version><Enabled>false</Enabled><IncludeAPIs>false</IncludeAPIs>{KEPT}"
            )),
            &xml,
        ),
        (cors(&cors_rule("GET", "*", "", "", "1").repeat(6)), &xml),
        (cors("<CorsRule><AllowedMethods>GET</AllowedMethods></CorsRule>"), &xml),
        (cors("<Rule/>"), &xml),
        (cors(&cors_rule("GET", &many(60, &"x".repeat(40)), "", "", "1")), &xml),
    ] {
        assert_eq!(update(&body).as_ref(), Err(failure), "{body}");
    }
    let value = Failure::invalid_xml_value();
    for rule in [
        cors_rule("get", "*", "", "", "1"),
        cors_rule("FETCH", "*", "", "", "1"),
        cors_rule("", "*", "", "", "1"),
        cors_rule("GET", "", "", "", "1"),
        cors_rule("GET", "http://a,", "", "", "1"),
        cors_rule("GET", "*,http://a", "", "", "1"),
        cors_rule("GET", &long, "", "", "1"),
        cors_rule("GET", &many(65, "a"), "", "", "1"),
        cors_rule("GET", "*", "a,,b", "", "1"),
        cors_rule("GET", "*", "a*b", "", "1"),
        cors_rule("GET", "*", "a*,b*,c*", "", "1"),
        cors_rule("GET", "*", "", &many(65, "a"), "1"),
        cors_rule("GET", "*", "", &long, "1"),
        cors_rule("GET", "*", "", "", ""),
        cors_rule("GET", "*", "", "", "-1"),
        cors_rule("GET", "*", "", "", "soon"),
    ] {
        assert_eq!(update(&cors(&rule)), Err(value.clone()), "{rule}");
    }
}

#[test]
fn old_versions_set_logging_and_metrics_only() {
    let mut properties = ServiceProperties::default();
    let metrics = format!("<Version>1.0</Version><Enabled>false</Enabled>{NOT_KEPT}");
    let logging = logging(&format!("{LOGGING}{KEPT}"));
    for (body, is_taken) in [
        (format!("{logging}<Metrics>{metrics}</Metrics>"), true),
        (logging.clone(), false),
        (format!("<Metrics>{metrics}</Metrics>"), false),
        (format!("{logging}<HourMetrics>{metrics}</HourMetrics>"), false),
        (format!("{logging}<Metrics>{metrics}</Metrics><Cors/>"), false),
    ] {
        let body = format!("<StorageServiceProperties>{body}</StorageServiceProperties>");
        assert_eq!(properties.update(body.as_bytes(), OLD).is_ok(), is_taken, "{body}");
    }
}
