mod aside;
mod bounds;
mod clock;
mod conservation;
mod passages;
mod passing;
mod reload;
mod support;
