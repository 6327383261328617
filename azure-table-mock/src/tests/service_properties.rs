use super::*;

const PROPERTIES: &str = "/?restype=service&comp=properties";

#[test]
fn settings_are_updated_one_by_one() {
    let service = strict();
    let get = || text(&send_signed(&service, "GET", PROPERTIES, "")).to_owned();
    let first = get();
    assert!(
        first.contains("<MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled>"),
        "{first}"
    );
    let minute = "<MinuteMetrics><Version>1.0</Version><Enabled>true</Enabled>\
                  <IncludeAPIs>false</IncludeAPIs><RetentionPolicy><Enabled>false</Enabled>\
                  </RetentionPolicy></MinuteMetrics>";
    let body = format!("<StorageServiceProperties>{minute}</StorageServiceProperties>");
    let set = send_signed(&service, "PUT", PROPERTIES, &body);
    assert_eq!((set.status.as_u16(), set.body.len()), (202, 0));
    assert_eq!(header(&set, "cache-control"), None);
    let second = get();
    assert!(second.contains(minute), "{second}");
    let without = |text: &str| {
        let (before, rest) = text.split_once("<MinuteMetrics>").unwrap();
        format!("{before}{}", rest.split_once("</MinuteMetrics>").unwrap().1)
    };
    assert_eq!(without(&second), without(&first), "missing settings are kept");

    let wrong = send_signed(&service, "PUT", PROPERTIES, "<StorageServiceProperties><Cors/>");
    assert_eq!(code(&wrong), (400, "InvalidXmlDocument".into()));
    let empty = send_signed(&service, "PUT", PROPERTIES, "");
    assert_eq!(code(&empty), (400, "InvalidXmlDocument".into()));
    let large = send_signed(&service, "PUT", PROPERTIES, &" ".repeat(64 * 1024 + 1));
    assert_eq!(code(&large), (413, "RequestBodyTooLarge".into()));
    assert_eq!(get(), second);
    assert_eq!(service.requests().count(wire::Operation::SetServiceProperties), 4);
    assert_eq!(service.requests().count(wire::Operation::GetServiceProperties), 3);
}
