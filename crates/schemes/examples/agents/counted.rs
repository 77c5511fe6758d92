//! Calls of agents, some of which callgrind counts: those in `counted_call`.

use std::hint::black_box;

use lasthop_agent::{Agent, Context};

/// Calls an agent as worlds do, and queries its deadline after the call.
pub fn call_agent<R>(
    is_counted: bool,
    agent: &mut dyn Agent,
    cx: &mut Context<'_>,
    call: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
) -> R {
    if is_counted { counted_call(agent, cx, call) } else { other_call(agent, cx, call) }
}

#[inline(never)]
fn counted_call<R>(
    agent: &mut dyn Agent,
    cx: &mut Context<'_>,
    call: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
) -> R {
    let result = call(agent, cx);
    black_box(agent.deadline());
    result
}

/// Like `counted_call`, hidden from callgrind.
#[inline(never)]
fn other_call<R>(
    agent: &mut dyn Agent,
    cx: &mut Context<'_>,
    call: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
) -> R {
    black_box(cx.now());
    let result = call(agent, cx);
    black_box(agent.deadline());
    result
}
