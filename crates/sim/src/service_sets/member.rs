//! Members of service sets: which they are, and where.

use lasthop_ess::{AccessPointId, ClientId};
use lasthop_wifi::StationId;

use crate::id::{NodeId, ServiceSetId};

/// A station of a service set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
    AccessPoint(AccessPointId),
    Client(ClientId),
}

/// A client and an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Association {
    pub(crate) set: ServiceSetId,
    pub(crate) client: ClientId,
    pub(crate) access_point: AccessPointId,
}

/// A member as the world knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) node: NodeId,
    pub(crate) station: StationId,
}
