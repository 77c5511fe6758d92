mod aside;
mod bounds;
mod clock;
mod conservation;
mod passing;
mod reload;
mod support;
