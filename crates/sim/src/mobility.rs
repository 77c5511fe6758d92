//! Where stations go.

mod movement;
mod waypoint;

pub(crate) use movement::{Movement, Movements};
pub use waypoint::{RandomWaypoint, Walker};
