//! The text of instructions on bitstrings and maps.

use crate::instruction::{Instruction, MatchCommand, Segment, SegmentSize, SegmentType, SegmentValue, Source};

use super::Line;

impl Line<'_> {
    pub(super) fn bits_and_maps(&mut self, instruction: &Instruction) -> &mut Self {
        use Instruction as I;
        match instruction {
            I::BsStartMatch { fail, live, value, destination } => {
                self.name("bs_start_match").source(*value).live(*live).fail(*fail).to(*destination)
            }
            I::BsGetInteger { fail, context, live, size, unit, flags, destination } => self
                .name("bs_get_integer")
                .source(*context)
                .source(*size)
                .with(format_args!("unit {unit}"))
                .flags(*flags)
                .live(*live)
                .fail(*fail)
                .to(*destination),
            I::BsGetFloat { fail, context, live, size, unit, flags, destination } => self
                .name("bs_get_float")
                .source(*context)
                .source(*size)
                .with(format_args!("unit {unit}"))
                .flags(*flags)
                .live(*live)
                .fail(*fail)
                .to(*destination),
            I::BsGetBinary { fail, context, live, size, unit, destination } => self
                .name("bs_get_binary")
                .source(*context)
                .size(*size)
                .with(format_args!("unit {unit}"))
                .live(*live)
                .fail(*fail)
                .to(*destination),
            I::BsSkipBits { fail, context, size, unit } => {
                self.name("bs_skip_bits").source(*context).size(*size).with(format_args!("unit {unit}")).fail(*fail)
            }
            I::BsTestTail { fail, context, bits } => self.name("bs_test_tail").source(*context).with(bits).fail(*fail),
            I::BsTestUnit { fail, context, unit } => self.name("bs_test_unit").source(*context).with(unit).fail(*fail),
            I::BsMatchString { fail, context, bits, offset } => self
                .name("bs_match_string")
                .source(*context)
                .with(format_args!("{bits} bits"))
                .bytes(*offset, bits.div_ceil(8))
                .fail(*fail),
            I::BsGetTail { context, live, destination } => {
                self.name("bs_get_tail").source(*context).live(*live).to(*destination)
            }
            I::BsGetPosition { context, live, destination } => {
                self.name("bs_get_position").source(*context).live(*live).to(*destination)
            }
            I::BsSetPosition { context, position } => self.name("bs_set_position").source(*context).source(*position),
            I::BsGetUtf { fail, encoding, context, live, flags, destination } => {
                let line = self
                    .name(if destination.is_some() { "bs_get_" } else { "bs_skip_" })
                    .name(segment_type(*encoding))
                    .source(*context)
                    .flags(*flags)
                    .live(*live)
                    .fail(*fail);
                match destination {
                    Some(destination) => line.to(*destination),
                    None => line,
                }
            }
            I::BsMatch { fail, context, commands } => {
                let items: Vec<String> = commands.iter().map(|command| self.show_command(command)).collect();
                self.name("bs_match").source(*context).list(items.into_iter()).fail(*fail)
            }
            I::BsCreateBin { fail, extra, live, unit, destination, segments } => {
                let items: Vec<String> = segments.iter().map(|segment| self.show_segment(segment)).collect();
                let line = self
                    .name("bs_create_bin")
                    .list(items.into_iter())
                    .with(format_args!("unit {unit}"))
                    .with(format_args!("{extra} words"));
                let line = match live {
                    Some(live) => line.live(*live),
                    None => line,
                };
                line.fail(*fail).to(*destination)
            }
            I::BsInitWritable => self.name("bs_init_writable"),
            I::BsInit { fail, size, bits, extra, live, destination } => self
                .name(if *bits { "bs_init_bits" } else { "bs_init" })
                .source(*size)
                .with(format_args!("{extra} words"))
                .live(*live)
                .fail(*fail)
                .to(*destination),
            I::BsAppend { fail, size, extra, live, unit, binary, private, destination } => self
                .name(if *private { "bs_private_append" } else { "bs_append" })
                .source(*binary)
                .source(*size)
                .with(format_args!("unit {unit}"))
                .with(format_args!("{extra} words"))
                .live(*live)
                .fail(*fail)
                .to(*destination),
            I::BsPut { fail, segment } => {
                let segment = self.show_segment(segment);
                self.name("bs_put").with(segment).fail(*fail)
            }
            I::BsAdd { fail, first, second, unit, destination } => self
                .name("bs_add")
                .source(*first)
                .source(*second)
                .with(format_args!("unit {unit}"))
                .fail(*fail)
                .to(*destination),
            I::BsUtfSize { fail, encoding, value, destination } => {
                self.name("bs_").name(segment_type(*encoding)).name("_size").source(*value).fail(*fail).to(*destination)
            }

            I::PutMap { fail, exact, map, live, destination, pairs } => {
                let arrow = if *exact { ":=" } else { "=>" };
                let items: Vec<String> = pairs
                    .iter()
                    .map(|&(key, value)| format!("{} {arrow} {}", self.show(key), self.show(value)))
                    .collect();
                self.name("put_map").source(*map).list(items.into_iter()).live(*live).fail(*fail).to(*destination)
            }
            I::HasMapFields { fail, map, keys } => self.name("has_map_fields").source(*map).sources(keys).fail(*fail),
            I::GetMapElements { fail, map, pairs } => {
                let items: Vec<String> = pairs
                    .iter()
                    .map(|&(key, value)| format!("{} -> {}", self.show(key), self.show(value.into())))
                    .collect();
                self.name("get_map_elements").source(*map).list(items.into_iter()).fail(*fail)
            }
            // The other two functions have shown all other instructions.
            _ => self.name("?"),
        }
    }

    fn size(&mut self, size: Option<Source>) -> &mut Self {
        match size {
            Some(size) => self.source(size),
            None => self.with("all"),
        }
    }

    /// Bytes of the string table.
    fn bytes(&mut self, offset: u32, length: u64) -> &mut Self {
        let text = self.show_bytes(offset, length);
        self.with(text)
    }

    fn show_bytes(&self, offset: u32, length: u64) -> String {
        let start = offset as usize;
        let end = start.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
        match self.module.strings.get(start..end) {
            Some(bytes) => format!("<<\"{}\">>", bytes.escape_ascii()),
            None => "?".to_owned(),
        }
    }

    fn show_segment(&self, segment: &Segment) -> String {
        let value = match segment.value {
            SegmentValue::Term(value) => self.show(value),
            SegmentValue::String { offset, length } => {
                return self.show_bytes(offset, u64::from(length));
            }
        };
        let size = match segment.size {
            SegmentSize::All => ":all".to_owned(),
            SegmentSize::Undefined => String::new(),
            SegmentSize::Units(size) => format!(":{}", self.show(size)),
        };
        let mut text = format!("{value}{size}/{}", segment_type(segment.kind));
        for (flag, name) in [(segment.flags.little, "little"), (segment.flags.signed, "signed")] {
            if flag {
                text = format!("{text}-{name}");
            }
        }
        if segment.unit > 0 {
            text = format!("{text}-unit:{}", segment.unit);
        }
        text
    }

    fn show_command(&self, command: &MatchCommand) -> String {
        let show = |destination: &crate::instruction::Register| self.show((*destination).into());
        match command {
            MatchCommand::EnsureAtLeast { stride, unit } => {
                format!("at least {stride} unit {unit}")
            }
            MatchCommand::EnsureExactly { stride } => format!("exactly {stride}"),
            MatchCommand::Integer { flags, bits, destination, .. } => {
                let little = if flags.little { " little" } else { "" };
                let signed = if flags.signed { " signed" } else { "" };
                format!("integer {bits}{little}{signed} -> {}", show(destination))
            }
            MatchCommand::Binary { bits, destination, .. } => {
                format!("binary {bits} -> {}", show(destination))
            }
            MatchCommand::GetTail { destination, .. } => format!("tail -> {}", show(destination)),
            MatchCommand::ExactlyEqual { bits, value, .. } => format!("{bits} =:= {value}"),
            MatchCommand::Skip { stride } => format!("skip {stride}"),
        }
    }
}

fn segment_type(kind: SegmentType) -> &'static str {
    match kind {
        SegmentType::Integer => "integer",
        SegmentType::Float => "float",
        SegmentType::Binary => "binary",
        SegmentType::Append => "append",
        SegmentType::PrivateAppend => "private_append",
        SegmentType::String => "string",
        SegmentType::Utf8 => "utf8",
        SegmentType::Utf16 => "utf16",
        SegmentType::Utf32 => "utf32",
    }
}
