mod aside;
mod bounds;
mod conservation;
mod passing;
mod reload;
mod support;
