//! Who calls: asked before anything of a call is read.

use std::sync::Arc;

use cne_task::codes;
use cne_transport::{Access, Caller, Peer, Tenant};
use tonic::{Request, Status, service::Interceptor};

use crate::error::Failure;

/// Lets calls pass whose caller is known; the caller becomes an extension of the request.
#[derive(Clone, Debug)]
pub struct Gate(Access);

impl Gate {
    /// Knows whom `access` knows.
    pub fn new(access: Access) -> Self {
        Self(access)
    }
}

impl Interceptor for Gate {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let caller = self.0.caller(Peer::of(&request), request.metadata());
        let caller = caller.map_err(|denied| unauthenticated(&denied.to_string()))?;
        request.extensions_mut().insert(caller);
        Ok(request)
    }
}

/// Who makes a call that has passed the gate.
pub(super) fn caller_of<T>(request: &Request<T>) -> Result<&Caller, Failure> {
    let caller = request.extensions().get();
    caller.ok_or_else(|| unauthenticated("the call did not pass the gate"))
}

/// For which tenant it is made.
pub(super) fn tenant_of(caller: &Caller) -> Result<Arc<Tenant>, Failure> {
    let tenant = caller.tenant.clone();
    tenant.ok_or_else(|| unauthenticated("a member of the pool speaks for no tenant without a token"))
}

fn unauthenticated(text: &str) -> Failure {
    Failure::new(codes::NO_TENANT, text)
}
