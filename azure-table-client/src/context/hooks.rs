//! What a program wants to see, or to change, of what a context reads and sends.

use std::fmt;

use crate::entity::DynamicEntity;
use crate::wire::Operation;

/// Sees an entity, and may change it.
pub(super) type EntityHook = dyn FnMut(&mut DynamicEntity) + Send;
/// Sees what a request does, and its table.
type RequestHook = dyn FnMut(Operation, &str) + Send;
/// Sees the status of an answer, and the service's id of the request.
type ReplyHook = dyn FnMut(u16, Option<&str>) + Send;

#[derive(Default)]
pub(super) struct Hooks {
    pub(super) writing: Option<Box<EntityHook>>,
    pub(super) reading: Option<Box<EntityHook>>,
    pub(super) request: Option<Box<RequestHook>>,
    pub(super) reply: Option<Box<ReplyHook>>,
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}
