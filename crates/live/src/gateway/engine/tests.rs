mod aside;
mod bounds;
mod clock;
mod conservation;
mod foresight;
mod passing;
mod reload;
mod support;
