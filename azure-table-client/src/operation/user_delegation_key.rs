//! The keys that sign shared access signatures for an identity.
//!
//! Source: [Get User Delegation Key][get]. `auth/user_delegation.rs` lists the others.
//!
//! [get]: https://learn.microsoft.com/rest/api/storageservices/get-user-delegation-key

use http::Method;

use super::{Reply, Request};
use crate::auth::{KeyInfo, UserDelegationKey};
use crate::error::Error;
use crate::wire::Operation;
use crate::wire::xml_tree::InvalidXml;

pub(crate) fn get(info: KeyInfo) -> Request {
    let body = info.write();
    let operation = Operation::GetUserDelegationKey;
    let request = Request::of_service(operation, Method::POST, "userdelegationkey").xml(body);
    // The response does not name the account.
    Request { resource: info.account, ..request }
}

pub(crate) fn key(reply: Reply, request: &Request) -> Result<UserDelegationKey, Error> {
    let reply = reply.ok(request)?;
    let key = UserDelegationKey::read(reply.xml(request)?, &request.resource);
    key.map_err(|InvalidXml| {
        reply.unexpected("the response is not a user delegation key for tables", request)
    })
}
