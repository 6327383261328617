//! The hooks of a program, which observe or change the entities that a context reads and sends.

use crate::entity::DynamicEntity;
use crate::wire::Operation;

/// Receives an entity, and may change it.
pub(super) type EntityHook = dyn FnMut(&mut DynamicEntity) + Send;
/// Receives the operation of a request, and its table.
type RequestHook = dyn FnMut(Operation, &str) + Send;
/// Receives the status of a response, and the service's id of the request.
type ReplyHook = dyn FnMut(u16, Option<&str>) + Send;

#[derive(Default)]
pub(super) struct Hooks {
    pub(super) writing: Option<Box<EntityHook>>,
    pub(super) reading: Option<Box<EntityHook>>,
    pub(super) request: Option<Box<RequestHook>>,
    pub(super) reply: Option<Box<ReplyHook>>,
}
