mod aside;
mod bounds;
mod clock;
mod conservation;
mod link;
mod passing;
mod reload;
mod support;
