//! The window scale option (RFC 7323, section 2): which windows a 16-bit field can tell.

/// The smallest shift with which a window field can tell this window (RFC 7323, section 2); at most
/// 14.
pub(super) const fn window_shift(window: u32) -> u8 {
    let mut shift = 0;
    while shift < 14 && window >> shift > u16::MAX as u32 {
        shift += 1;
    }
    shift
}

/// The largest window up to this one that a window field scaled by `shift` can tell exactly; its
/// unit at least.
pub(super) const fn tellable(window: u32, shift: u8) -> u32 {
    let field = window >> shift;
    let field = if field > u16::MAX as u32 { u16::MAX as u32 } else { field };
    (if field == 0 { 1 } else { field }) << shift
}
