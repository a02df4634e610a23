//! The operating system, as the machine sees it: reserved address ranges, clocks, resident memory.

pub mod addresses;
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
