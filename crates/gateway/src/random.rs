//! Random bytes from the operating system.

/// Fresh random bytes.
///
/// Without them no cursor or token can be trusted, so a system that has none to give ends the process.
#[must_use]
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if let Err(error) = getrandom::fill(&mut bytes) {
        tracing::error!(%error, "the operating system gives no random bytes");
        std::process::abort();
    }
    bytes
}
