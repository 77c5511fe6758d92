//! Rules of the simulator, by subject.

mod ad_hoc;
mod agents;
mod bbr;
mod broadcast;
mod calls;
mod delays;
mod dialogues;
mod endpoints;
mod formulas;
mod link_events;
mod links;
mod memory;
mod options;
mod outside;
mod power_save;
mod queues;
mod radio;
mod random;
mod reconfigure;
mod scheduler;
mod seats;
mod selective_repeat;
mod slow_start;
mod support;
mod traffic;
mod wlan;
