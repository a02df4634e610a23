//! Flags of the machine (`+S 2`): what they mean here.

use super::signals::{self, Interrupt};
use crate::options::Options;

/// The largest `max_heap_size` in words, as in OTP.
const MOST_HEAP_WORDS: usize = (1 << 59) - 1;

/// Sets the options that a flag means; flags without a meaning for this machine are accepted.
///
/// # Errors
/// The value is not possible.
pub fn apply(options: &mut Options, flag: &str, value: Option<&str>) -> Result<(), String> {
    let value = value.unwrap_or_default();
    match flag {
        // The number online behind the colon cannot be lower than that of all here.
        "S" => {
            let first = value.split(':').next().unwrap_or_default();
            match first.parse::<usize>() {
                Ok(0) => {}
                Ok(count @ 1..=1024) => options.schedulers = count,
                _ if first.is_empty() && value.len() > 1 => {}
                _ => return Err(format!("bad number of schedulers {value}")),
            }
        }
        "P" => {
            options.processes = match value {
                "legacy" => options.processes,
                _ => number("number of processes", value, 1024, 134_217_727)?.next_power_of_two(),
            }
        }
        "hms" => options.minimum_heap_words = number("minimum heap size", value, 0, usize::MAX)?.max(1),
        "hmbs" => options.minimum_binary_words = number("minimum binary virtual heap size", value, 0, usize::MAX)?,
        "hmax" => options.maximum_heap_words = number("max heap size", value, 0, MOST_HEAP_WORDS)?,
        "hmaxk" => options.kills_at_heap_limit = value.parse().map_err(|_| format!("bad max heap kill {value}"))?,
        "hmaxel" => {
            options.tells_heap_limit = value.parse().map_err(|_| format!("bad max heap error logger {value}"))?
        }
        "t" => options.atoms = Some(number("atom table size", value, 8192, 2_147_483_647)?),
        "Q" if value == "legacy" => {}
        "Q" => options.ports = Some(number("number of ports", value, 1024, 134_217_727)?),
        "hmqd" => {
            options.off_heap_messages = match value {
                "off_heap" => true,
                "on_heap" => false,
                _ => return Err(format!("Invalid message_queue_data flag: {value}")),
            }
        }
        "c" => options.clock.correction = value == "true",
        "C" => {
            let known = ["no_time_warp", "single_time_warp", "multi_time_warp"].into_iter().find(|mode| *mode == value);
            options.clock.warp = Some(known.ok_or_else(|| format!("Invalid time warp mode: {value}"))?);
        }
        "SDcpu" => {
            let first = value.split(':').next().unwrap_or_default();
            if !first.is_empty() || value.is_empty() {
                options.dirty_processor = Some(number("number of dirty CPU schedulers", first, 1, 1024)?);
            }
        }
        "SDio" => {
            options.dirty_input_output = number("number of dirty I/O schedulers", value, 1, 1024)?;
            atoll_natives::dirty::set_threads(options.dirty_input_output);
        }
        "A" => drop(number("number of async threads", value, 0, 1024)?),
        "pc" => match value {
            "latin1" => options.printable_unicode = false,
            "unicode" => options.printable_unicode = true,
            _ => return Err(format!("bad range of printable characters {value}")),
        },
        "B" | "Bd" => signals::on_interrupt(Interrupt::End),
        "Bi" => signals::on_interrupt(Interrupt::Ignore),
        "We" => options.warnings_as = Some("error"),
        "Wi" => options.warnings_as = Some("info"),
        // OTP 25 knows `fp` and `dump` too: frames that a profiler can walk, and code for `perf inject`.
        "JPperf" => match value {
            "true" | "map" => options.perf_map = true,
            "false" | "fp" | "no_fp" | "dump" => {}
            _ => return Err(format!("bad +JPperf support flag {value}")),
        },
        "zdbbl" => {
            options.busy_limit = number("busy limit of connections", value, 1, 2_097_151)? * 1024;
        }
        "fnl" => atoll_natives::set_encoding(atoll_natives::Encoding::Latin1),
        "fnu" | "fnuw" => atoll_natives::set_encoding(atoll_natives::Encoding::Warn),
        "fnui" => atoll_natives::set_encoding(atoll_natives::Encoding::Ignore),
        "fnue" => atoll_natives::set_encoding(atoll_natives::Encoding::Error),
        _ => {}
    }
    Ok(())
}

fn number(what: &str, value: &str, least: usize, most: usize) -> Result<usize, String> {
    match value.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("bad {what} {value}")),
    }
}
