//! The operating system, as the machine sees it: reserved address ranges, clocks, resident memory.

pub mod allocator;
pub mod clock;
pub mod copies;
pub mod debugger;
pub mod descriptor;
pub mod ending;
pub mod endpoints;
pub mod environment;
pub mod errors;
pub mod executable;
pub mod jobs;
mod memory;
pub mod network;
mod observed;
pub mod sockets;
pub mod steady;
pub mod sync;
pub mod threads;

pub use memory::{NoSuchAdvice, OutOfMemory, Reservation, discard_in_portions, make_pages};
pub use observed::Observed;

/// Memory of the machine, in bytes.
pub fn machine_bytes() -> usize {
    let info = rustix::system::sysinfo();
    (info.totalram as usize).saturating_mul(info.mem_unit.max(1) as usize)
}

/// Addresses that this process may use, in bytes (`ulimit -v`).
pub fn address_bytes() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::As).current;
    limit.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usize::MAX)
}

/// Where addresses are limited, leaves them to the machine: the C library, whose memory only a few libraries use, would
/// take 64 MB of them for each thread, and 128 for a moment, as long as there are any. To be called before threads are
/// started.
pub fn save_addresses() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if address_bytes() < usize::MAX {
        // SAFETY: sets a figure of the C library's allocator.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

/// The user whose rights this process has.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Resident memory of this process now, in bytes; 0 where the system does not tell.
pub fn resident_bytes() -> u64 {
    std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok())
        .map_or(0, |pages| pages * rustix::param::page_size() as u64)
}

/// Highest resident memory of this process so far, in bytes; 0 where the system does not tell.
pub fn peak_resident_bytes() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
        .map_or(0, |kilobytes| kilobytes * 1024)
}
