//! Continuation tokens, in the form of each service.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::exchange::Exchange;
use crate::failure::Failure;
use crate::reply::ResponseDraft;
use crate::row::StoredKey;
use crate::wire::headers;

/// The texts before and after the token of a row in Cosmos DB.
const COSMOS_ROW: (&str, &str) = (r#"{"token":""#, r#"","range":{"min":"","max":"FF"}}"#);

/// Returns the keys of the first row of a page. In Azure Storage the RowKey is optional.
pub(super) fn row(exchange: &Exchange<'_>) -> Result<Option<StoredKey>, Failure> {
    if exchange.request.dialect.is_cosmos() {
        return cosmos(exchange, "NextPartitionKey", read_cosmos_row);
    }
    let Some(partition) = exchange.token("NextPartitionKey")? else {
        return Ok(None);
    };
    if exchange.request.raw.option("NextRowKey").is_some_and(|text| text.is_empty()) {
        return Err(Failure::invalid_input());
    }
    Ok(Some(StoredKey::new(partition, exchange.token("NextRowKey")?.unwrap_or_default())))
}

/// Adds the token of a page that begins with this row.
pub(super) fn add_row(exchange: &Exchange<'_>, reply: &mut ResponseDraft, key: &StoredKey) {
    if exchange.request.dialect.is_cosmos() {
        reply.text_header(headers::NEXT_PARTITION_KEY.clone(), write_cosmos_row(key));
        reply.text_header(headers::NEXT_ROW_KEY.clone(), "NA");
        return;
    }
    Exchange::add_token(reply, &headers::NEXT_PARTITION_KEY, &key.partition);
    Exchange::add_token(reply, &headers::NEXT_ROW_KEY, &key.row);
}

/// Returns the position of the first table of a page.
pub(super) fn table(exchange: &Exchange<'_>) -> Result<Option<String>, Failure> {
    if exchange.request.dialect.is_cosmos() {
        return cosmos(exchange, "NextTableName", read_text);
    }
    exchange.token("NextTableName")
}

/// Adds the token of a page that begins with the table at this position.
pub(super) fn add_table(exchange: &Exchange<'_>, reply: &mut ResponseDraft, position: &str) {
    if exchange.request.dialect.is_cosmos() {
        reply.text_header(headers::NEXT_TABLE_NAME.clone(), STANDARD.encode(position));
        return;
    }
    Exchange::add_token(reply, &headers::NEXT_TABLE_NAME, position);
}

fn cosmos<T>(
    exchange: &Exchange<'_>,
    name: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, Failure> {
    let token = exchange.request.raw.option(name).filter(|token| !token.is_empty());
    token.map(|token| read(&token).ok_or_else(Failure::invalid_input)).transpose()
}

/// A key contains no `/`.
fn write_cosmos_row(key: &StoredKey) -> String {
    let text = STANDARD.encode(format!("{}/{}", key.partition, key.row));
    format!("{}{text}{}", COSMOS_ROW.0, COSMOS_ROW.1)
}

fn read_cosmos_row(token: &str) -> Option<StoredKey> {
    let text = token.strip_prefix(COSMOS_ROW.0)?.strip_suffix(COSMOS_ROW.1)?;
    let text = read_text(text)?;
    let (partition, row) = text.split_once('/')?;
    Some(StoredKey::new(partition, row))
}

fn read_text(text: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(text).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_cosmos_db_have_the_form_of_the_service() {
        let key = StoredKey::new("p", "é\u{1f600}");
        let token = write_cosmos_row(&key);
        assert_eq!(token, r#"{"token":"cC/DqfCfmIA=","range":{"min":"","max":"FF"}}"#);
        assert_eq!(read_cosmos_row(&token), Some(key));
        for bad in ["", "cC9y", "1!4!cGs4", &token.replace("cC/", "****"), &token.replace('/', "9")]
        {
            assert_eq!(read_cosmos_row(bad), None, "{bad}");
        }
    }
}
