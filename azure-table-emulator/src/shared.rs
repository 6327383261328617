//! The state that all connections share.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use http::uri::Scheme;

use crate::accounts::Accounts;
use crate::control_token::ControlToken;
use crate::gate::Gate;
use crate::limits::{Budget, Limits};
use crate::options::Options;
use crate::page_state::PageState;

/// The text of the response to a request that exceeds the byte budget.
pub(crate) const BUSY: &str =
    "azure-table-emulator has too many large requests and responses in flight.\n";

/// The state that all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) has_page: bool,
    pub(crate) page: PageState,
    pub(crate) limits: Limits,
    pub(crate) scheme: Scheme,
    /// The address of the listener.
    pub(crate) address: SocketAddr,
    pub(crate) gate: Gate,
    /// The room for the bodies of the services.
    pub(crate) budget: Budget,
    /// The room for the page and the control API.
    pub(crate) page_budget: Budget,
    pub(crate) control: Control,
}

/// The settings of the control API.
#[derive(Debug)]
pub(crate) struct Control {
    /// The token that it requires.
    pub(crate) token: Option<ControlToken>,
    pub(crate) is_read_only: bool,
}

impl Shared {
    pub(crate) fn new(
        options: &Options,
        accounts: Arc<Accounts>,
        scheme: Scheme,
        address: SocketAddr,
        limits: Limits,
    ) -> io::Result<Self> {
        let gate = Gate::new(address, &options.allow_hosts);
        Ok(Self {
            accounts,
            has_page: options.page,
            page: PageState::new(options, gate.is_loopback())?,
            limits,
            scheme,
            address,
            gate,
            budget: Budget::new(limits.bytes, limits.room),
            page_budget: Budget::new(limits.page_bytes, limits.room),
            control: Control {
                token: options.control_token.as_deref().map(ControlToken::new),
                is_read_only: options.read_only,
            },
        })
    }
}
