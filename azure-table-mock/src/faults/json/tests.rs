//! Tests of fault plans as JSON.

use super::super::super::TableService;
use super::*;

/// Adds one fault and returns the plan that the service then has.
fn plan_of(fault: &str) -> Result<String, String> {
    let mock = TableService::new();
    mock.faults().add_json(fault).map_err(|error| error.to_string())?;
    Ok(mock.faults().to_json())
}

#[test]
fn every_fault_has_a_json_form_that_is_read_again() {
    let member = |name: &str| match name {
        "delay_request" | "delay_reply" | "table_being_deleted" => r#","milliseconds":1500"#,
        "error" => r#","code":"Odd","status":599"#,
        "proxy_page" | "captive_portal" => r#","status":502"#,
        "page_of" => r#","rows":0"#,
        "throttle" | "throttle_account" => r#","entities_per_second":500"#,
        _ => "",
    };
    let names = KINDS.replace(" or ", ", ");
    assert_eq!(names.split(", ").count(), 21);
    for name in names.split(", ").map(str::trim) {
        let fault = format!(r#"{{"fault":"{name}"{}}}"#, member(name));
        let plan = plan_of(&fault).unwrap();
        // Both are an HTML page with a status.
        let written = if name == "captive_portal" { "proxy_page" } else { name };
        let expected = format!(r#""fault":"{written}""#);
        assert!(plan.contains(&expected), "{plan}");
        assert_eq!(plan_of(&plan).as_ref(), Ok(&plan), "{name}");
        for part in member(name).split(',') {
            assert!(plan.contains(part), "{part} in {plan}");
        }
    }
}

#[test]
fn options_and_selections_are_kept() {
    for fault in [
        r#"{"after_commit":true,"fault":"busy","retry_after":2,"struck":0,"without_body":true}"#,
        r#"{"fault":"proxy_page","retry_after_date":3,"status":503,"struck":0}"#,
        r#"{"entities_per_second":5,"fault":"throttle","retry_after_ms":70,"struck":0}"#,
        r#"{"fault":"hang","on":["Get","Insert"],"struck":0,"table":"Blogs"}"#,
        r#"{"fault":"hang","partition":"p","row":"","skip":3,"struck":0,"times":4}"#,
        r#"{"fault":"hang","partition":"p","probability":0.25,"struck":0}"#,
    ] {
        assert_eq!(plan_of(fault), Ok(format!(r#"{{"faults":[{fault}],"seed":0}}"#)));
    }
    let writes = plan_of(r#"{"fault":"hang","on":"writes"}"#).unwrap();
    assert!(writes.contains(r#""on":["CreateTable","DeleteTable","Insert""#), "{writes}");
    let seeded = plan_of(r#"{"seed":7,"faults":[]}"#).unwrap();
    assert_eq!(seeded, r#"{"faults":[],"seed":7}"#);
}

#[test]
fn errors_name_the_member_and_add_nothing() {
    for (plan, expected) in [
        ("{", "the fault plan is malformed: EOF"),
        ("5", "the fault plan has no member \"faults\""),
        (r#"{"faults":{}}"#, "faults must be an array"),
        (
            r#"{"faults":[],"sed":1}"#,
            "unknown member \"sed\": the fault plan has the members faults, seed",
        ),
        (r#"{"faults":[],"seed":-1}"#, "seed must be a whole number, not -1"),
        ("[5]", "fault 0: a fault is an object"),
        ("[{}]", "fault 0: fault is missing"),
        (r#"[{"fault":"hang"},{"fault":"busi"}]"#, "fault 1: unknown fault \"busi\": it is refuse"),
        (
            r#"{"fault":"hang","tabel":"x"}"#,
            "unknown member \"tabel\": a fault of this name has the members fault, on, table, partition, row, \
             probability, skip, times",
        ),
        (
            r#"{"fault":"delay_reply","milliseconds":1,"time":1}"#,
            "the members fault, milliseconds, on, ",
        ),
        (r#"{"fault":"hang","after_commit":true}"#, "unknown member \"after_commit\""),
        (r#"{"fault":"throttle","entities_per_second":1,"after_commit":true}"#, "unknown member"),
        (r#"{"fault":"busy","milliseconds":1}"#, "unknown member \"milliseconds\""),
        (r#"{"fault":"delay_reply"}"#, "milliseconds is missing"),
        (r#"{"fault":"delay_reply","milliseconds":"1"}"#, "milliseconds must be a whole number"),
        (r#"{"fault":"error","status":500}"#, "code is missing"),
        (
            r#"{"fault":"proxy_page","status":99}"#,
            "status must be a status from 100 to 999, not 99",
        ),
        (
            r#"{"fault":"hang","on":"insert"}"#,
            "unknown operation \"insert\": it is reads, writes, ",
        ),
        (r#"{"fault":"hang","on":[1]}"#, "on has names of operations, not 1"),
        (r#"{"fault":"hang","row":"1"}"#, "row needs a partition"),
        (r#"{"fault":"hang","probability":2}"#, "probability must be from 0 to 1, not 2"),
        (r#"{"fault":"busy","retry_after":1,"retry_after_ms":1}"#, "a fault has one retry_after"),
        (r#"{"fault":"hang","times":1.5}"#, "times must be a whole number, not 1.5"),
    ] {
        let mock = TableService::new();
        let error = mock.faults().add_json(plan).unwrap_err().to_string();
        assert!(error.contains(expected), "{plan}: {error}");
        assert_eq!(mock.faults().to_json(), r#"{"faults":[],"seed":0}"#, "{plan}");
    }
}
