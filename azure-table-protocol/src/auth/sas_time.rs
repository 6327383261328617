use crate::edm::EdmDateTime;

/// Reads a time of a policy or a signature: a day, or a day with hours and minutes, also with
/// seconds and their fraction.
///
/// Source: [Format date/time values](https://learn.microsoft.com/rest/api/storageservices/formatting-datetime-values).
#[doc(hidden)]
pub fn read_time(text: &str) -> Option<EdmDateTime> {
    let text = match text.as_bytes() {
        bytes if bytes.len() == 10 => format!("{text}T00:00:00Z"),
        [_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, b':', ..] => text.to_owned(),
        _ => {
            let (minutes, zone) = text.split_at_checked(16)?;
            format!("{minutes}:00{zone}")
        }
    };
    text.parse().ok()
}
