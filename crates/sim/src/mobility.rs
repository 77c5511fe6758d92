//! Where stations go.

mod movement;
mod waypoint;

pub(crate) use movement::Movement;
pub use waypoint::{RandomWaypoint, Walker};
