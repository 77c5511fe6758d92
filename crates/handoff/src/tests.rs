mod model;
mod outages;
