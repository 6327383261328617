//! Tokens of Entra ID in the course of a call.

#[cfg(test)]
#[cfg(feature = "mock")]
mod tests;

use std::pin::pin;

use http::{HeaderValue, StatusCode};

use super::Attempts;
use crate::auth::{BearerTokens, Challenge, Credential, Token};
use crate::error::{Error, ErrorCode};
use crate::operation::Answer;
use crate::wire::Operation;

/// The tokens that a call was sent with.
#[derive(Debug, Default)]
pub(in crate::pipeline) struct Bearer {
    /// The token of the last attempt; `None` while the tenant is unknown.
    token: Option<Token>,
    has_renewed: bool,
}

/// Whether Cosmos DB refuses a token since there are too many: a new one would be one more.
///
/// Source: [Azure/azure-sdk-for-net#47191](https://github.com/Azure/azure-sdk-for-net/issues/47191).
fn is_of_too_many(answer: &Answer) -> bool {
    answer.error.as_ref().is_some_and(|error| error.message.contains("allowed aad token limit"))
}

impl Attempts<'_> {
    fn tokens(&self) -> Option<&BearerTokens> {
        match &*self.signing.credential {
            Credential::Token(tokens) => Some(tokens),
            _ => None,
        }
    }

    /// Whether the last attempt had no token since the tenant is unknown. The service applies no such request.
    pub(super) fn lacks_token(&self) -> bool {
        self.tokens().is_some() && self.signing.bearer.token.is_none()
    }

    /// Returns the `Authorization` of the next attempt, if it needs a token.
    pub(super) async fn authorization(&mut self) -> Result<Option<HeaderValue>, Error> {
        let Some(tokens) = self.tokens() else { return Ok(None) };
        let clock = &self.pipeline.clock;
        let token = clock.timeout_at(self.deadline, pin!(tokens.token(clock))).await;
        let token = token.unwrap_or_else(|| {
            Err(Error::deadline(self.whole_deadline, "the credential returned no token in time"))
        });
        self.signing.bearer.token = token.map_err(|error| self.failed(error))?;
        Ok(self.signing.bearer.token.as_ref().map(Token::header))
    }

    /// Returns whether to send the request again after a response about the token: once with a new token, or
    /// with the first token of the tenant that the service names.
    pub(super) fn has_new_token(&mut self, answer: &Answer) -> Result<bool, Error> {
        let Some(tokens) = self.tokens() else { return Ok(false) };
        if answer.status.is_success() {
            return Ok(false);
        }
        let challenge = Challenge::of(&answer.headers);
        let Some(token) = &self.signing.bearer.token else {
            // A response to a request without a token reports only the tenant.
            let tenant = challenge.and_then(|challenge| challenge.tenant).ok_or_else(|| {
                self.failed(
                    Error::credential(
                        "the service did not name its tenant; use BearerTokens::new with a \
                         credential of it",
                    )
                    .with_reply(answer.status, None),
                )
            })?;
            tokens.adopt(&tenant).map_err(|error| self.failed(error))?;
            return Ok(true);
        };
        let is_refused = match answer.status {
            StatusCode::UNAUTHORIZED => true,
            StatusCode::FORBIDDEN => challenge.is_some(),
            _ => false,
        };
        if !is_refused || self.signing.bearer.has_renewed || is_of_too_many(answer) {
            return Ok(false);
        }
        tokens.reject(token);
        self.signing.bearer.has_renewed = true;
        Ok(true)
    }

    /// Returns advice on a response that refuses the token for good.
    pub(super) fn advice(&self, answer: &Answer) -> Option<String> {
        let tokens = self.tokens()?;
        match answer.status {
            StatusCode::UNAUTHORIZED if is_of_too_many(answer) => {
                return Some(
                    "The token is valid: the account allows only so many tokens at a \
                     time. Share a client in each program, and an identity's token among them, or \
                     use a key."
                        .to_owned(),
                );
            }
            StatusCode::UNAUTHORIZED => {}
            StatusCode::FORBIDDEN if answer.code() == Some(ErrorCode::AuthenticationFailed) => {}
            StatusCode::FORBIDDEN if self.request.operation == Operation::GetUserDelegationKey => {
                return Some(
                    "The identity may lack a role that may generate user delegation keys, such as \
                     Storage Table Delegator; a new role takes effect after some minutes."
                        .to_owned(),
                );
            }
            StatusCode::FORBIDDEN => {
                return Some(
                    "The identity may lack a role such as Storage Table Data Contributor, or \
                     Storage Table Data Reader to read, which the owner of an account lacks as \
                     well; a new role takes effect after some minutes."
                        .to_owned(),
                );
            }
            _ => return None,
        }
        let mut advice = format!("The token for {} was refused", tokens.scope());
        let Challenge { tenant, resource } = Challenge::of(&answer.headers).unwrap_or_default();
        if let Some(resource) = resource {
            advice.push_str(", where the service names the audience ");
            advice.push_str(&resource);
        }
        if let Some(tenant) = tenant {
            advice.push_str(", and the tenant ");
            advice.push_str(&tenant);
        }
        advice.push_str("; see BearerTokens::audience and the tenant of the credential.");
        Some(advice)
    }
}
