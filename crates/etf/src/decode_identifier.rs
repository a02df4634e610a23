//! Decodes pids, ports and references: how their parts lie in a word, and which values the format admits.

use atoll_term::{Allocate, Build, ExternalKind, PID_NUMBER_BITS, Term};

use crate::decode::Decoder;
use crate::error::DecodeError;
use crate::identifier::{LOCAL_REFERENCE_NUMBERS, REFERENCE_NUMBERS, SHORT_PORT_MAX};
use crate::reader::Reader;
use crate::tags;

/// A local reference's first number has 18 bits.
const FIRST_NUMBER_LIMIT: u32 = 1 << 18;
/// Bits of the data of a pid of this node.
const PID_DATA_BITS: u32 = 60;
/// The creations that fit the old one-byte field.
const OLD_CREATION_MAX: u8 = 3;

/// The creation: one byte in the old forms, four in the new ones.
fn creation(reader: &mut Reader<'_>, old: bool) -> Result<u32, DecodeError> {
    if !old {
        return reader.u32();
    }
    match reader.u8()? {
        creation if creation <= OLD_CREATION_MAX => Ok(u32::from(creation)),
        _ => Err(DecodeError::Malformed),
    }
}

impl<H: Allocate + ?Sized> Decoder<'_, '_, H> {
    /// Whether a node and creation are this node's; creation 0 means that the writer did not know it.
    fn is_this_node(&self, node: Term, creation: u32) -> bool {
        let (this, this_creation) = self.resolve.this_node();
        node == this && (creation == 0 || creation == this_creation)
    }

    pub(crate) fn pid(&mut self, tag: u8) -> Result<Term, DecodeError> {
        let node = self.atom_term()?;
        let (number, serial) = (self.reader.u32()?, self.reader.u32()?);
        let creation = creation(&mut self.reader, tag == tags::PID)?;
        if !self.is_this_node(node, creation) {
            let data = [u64::from(number), u64::from(serial)];
            return Ok(self.heap.external(ExternalKind::Pid, node, creation, &data));
        }
        if number >> PID_NUMBER_BITS != 0 {
            return Err(DecodeError::Malformed);
        }
        Ok(Term::pid_of(number.into(), serial.into()))
    }

    pub(crate) fn port(&mut self, tag: u8) -> Result<Term, DecodeError> {
        let node = self.atom_term()?;
        let number = if tag == tags::V4_PORT { self.reader.u64()? } else { u64::from(self.reader.u32()?) };
        let creation = creation(&mut self.reader, tag == tags::PORT)?;
        if !self.is_this_node(node, creation) {
            return Ok(self.heap.external(ExternalKind::Port, node, creation, &[number]));
        }
        if number > SHORT_PORT_MAX { Err(DecodeError::Malformed) } else { Ok(Term::port(number)) }
    }

    pub(crate) fn reference(&mut self, tag: u8) -> Result<Term, DecodeError> {
        if tag == tags::REFERENCE {
            let node = self.atom_term()?;
            let number = self.reader.u32()?;
            let creation = creation(&mut self.reader, true)?;
            return self.reference_of(node, creation, true, &[number]);
        }
        let count = usize::from(self.reader.u16()?);
        if count > REFERENCE_NUMBERS {
            return Err(DecodeError::Malformed);
        }
        let old = tag == tags::NEW_REFERENCE;
        let node = self.atom_term()?;
        let creation = creation(&mut self.reader, old)?;
        let mut numbers = [0; REFERENCE_NUMBERS];
        for number in &mut numbers[..count] {
            *number = self.reader.u32()?;
        }
        self.reference_of(node, creation, old, &numbers[..count])
    }

    fn reference_of(&mut self, node: Term, creation: u32, old: bool, numbers: &[u32]) -> Result<Term, DecodeError> {
        let here = self.is_this_node(node, creation);
        if (here || old) && numbers.first().is_some_and(|number| *number >= FIRST_NUMBER_LIMIT) {
            return Err(DecodeError::Malformed);
        }
        if !here {
            let data: Vec<u64> = numbers.iter().copied().map(u64::from).collect();
            return Ok(self.heap.external(ExternalKind::Reference, node, creation, &data));
        }
        if let ([first, second, third, low, high], true) = (numbers, self.from_node) {
            // An alias: see `alias_numbers`.
            let data = (u64::from(*low) | u64::from(*high) << 32).checked_sub(1);
            let data = data.filter(|data| data >> PID_DATA_BITS == 0).ok_or(DecodeError::Malformed)?;
            return Ok(self.heap.reference([*first, *second, *third], Some(Term::pid(data))));
        }
        if numbers.is_empty() && !old || numbers.len() > LOCAL_REFERENCE_NUMBERS {
            return Err(DecodeError::Malformed);
        }
        let mut local = [0; LOCAL_REFERENCE_NUMBERS];
        local[..numbers.len()].copy_from_slice(numbers);
        match self.resolve.magic(local) {
            Some(value) => Ok(self.heap.magic_reference(local, value)),
            None => Ok(self.heap.reference(local, None)),
        }
    }
}
