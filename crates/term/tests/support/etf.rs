//! A reader of the external term format for trusted test data.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};
use std::sync::{LazyLock, Mutex};

use atoll_term::{Build, Export, ExternalKind, FunEntry, ScratchHeap, Term, atoms, map};

/// By the words of module and name, and the arity.
type Exports = HashMap<(u64, u64, u8), &'static Export>;

static EXPORTS: LazyLock<Mutex<Exports>> = LazyLock::new(Mutex::default);

fn export(module: Term, name: Term, arity: u8) -> &'static Export {
    EXPORTS.lock().unwrap().entry((module.word(), name.word(), arity)).or_insert_with(|| {
        Box::leak(Box::new(Export {
            address: AtomicPtr::default(),
            module,
            name,
            arity,
            defined: AtomicBool::new(false),
            built_in: AtomicU32::new(Export::NOT_BUILT_IN),
            undefined: Default::default(),
        }))
    })
}

pub struct Reader<'b> {
    bytes: &'b [u8],
    /// Counts bitstrings, so that they come in every alignment.
    alignment: usize,
}

impl<'b> Reader<'b> {
    pub fn new(bytes: &'b [u8]) -> Reader<'b> {
        Reader { bytes, alignment: 0 }
    }

    pub fn at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    /// A term with the length of its format in front.
    pub fn record(&mut self, heap: &mut ScratchHeap) -> Term {
        self.u32();
        assert_eq!(self.u8(), 131);
        self.term(heap)
    }

    fn take(&mut self, count: usize) -> &'b [u8] {
        let (taken, rest) = self.bytes.split_at(count);
        self.bytes = rest;
        taken
    }

    fn u8(&mut self) -> u8 {
        self.take(1)[0]
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().unwrap())
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take(4).try_into().unwrap())
    }

    fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.take(8).try_into().unwrap())
    }

    fn terms(&mut self, heap: &mut ScratchHeap, count: usize) -> Vec<Term> {
        (0..count).map(|_| self.term(heap)).collect()
    }

    fn term(&mut self, heap: &mut ScratchHeap) -> Term {
        match self.u8() {
            70 => {
                let value = f64::from_bits(self.u64());
                heap.float(value)
            }
            77 => {
                let bytes = self.u32() as usize;
                let last = self.u8() as usize;
                let data = self.take(bytes);
                self.bits(heap, data, bytes * 8 - 8 + last)
            }
            88 => {
                let node = self.term(heap);
                let (number, serial, creation) = (self.u32(), self.u32(), self.u32());
                if node == atoms::NONODE_NOHOST {
                    return Term::pid_of(number.into(), serial.into());
                }
                heap.external(ExternalKind::Pid, node, creation, &[u64::from(number), u64::from(serial)])
            }
            tag @ (89 | 120) => {
                let node = self.term(heap);
                let number = if tag == 89 { u64::from(self.u32()) } else { self.u64() };
                let creation = self.u32();
                if node == atoms::NONODE_NOHOST {
                    return Term::port(number);
                }
                heap.external(ExternalKind::Port, node, creation, &[number])
            }
            90 => {
                let count = self.u16();
                let node = self.term(heap);
                let creation = self.u32();
                let numbers: Vec<u32> = (0..count).map(|_| self.u32()).collect();
                if node == atoms::NONODE_NOHOST {
                    return heap.reference(numbers.try_into().unwrap(), None);
                }
                let data: Vec<u64> = numbers.iter().map(|number| u64::from(*number)).collect();
                heap.external(ExternalKind::Reference, node, creation, &data)
            }
            97 => Term::small(i64::from(self.u8())),
            98 => Term::small(i64::from(self.u32() as i32)),
            100 => {
                let length = self.u16() as usize;
                let name: String = self.take(length).iter().map(|byte| char::from(*byte)).collect();
                atoms::atom(&name).unwrap()
            }
            104 => {
                let count = self.u8() as usize;
                let elements = self.terms(heap, count);
                heap.tuple(&elements)
            }
            105 => {
                let count = self.u32() as usize;
                let elements = self.terms(heap, count);
                heap.tuple(&elements)
            }
            106 => Term::NIL,
            107 => {
                let count = self.u16() as usize;
                let bytes = self.take(count);
                heap.list(bytes.iter().map(|byte| Term::small(i64::from(*byte))))
            }
            108 => {
                let count = self.u32() as usize;
                let elements = self.terms(heap, count);
                let tail = self.term(heap);
                heap.list_with_tail(elements, tail)
            }
            109 => {
                let bytes = self.u32() as usize;
                let data = self.take(bytes);
                self.bits(heap, data, bytes * 8)
            }
            tag @ (110 | 111) => {
                let count = if tag == 110 { self.u8() as usize } else { self.u32() as usize };
                let negative = self.u8() == 1;
                let bytes = self.take(count);
                let limbs: Vec<u64> = bytes
                    .chunks(8)
                    .map(|chunk| chunk.iter().rev().fold(0, |limb, byte| limb << 8 | u64::from(*byte)))
                    .collect();
                heap.big_from_limbs(negative, &limbs)
            }
            112 => {
                self.u32();
                let arity = self.u8();
                let unique = self.take(16).try_into().unwrap();
                let (index, count) = (self.u32(), self.u32());
                let module = self.term(heap);
                let _old_index = self.term(heap);
                let old_unique = self.term(heap).small_value() as u32;
                let creator = self.term(heap);
                let free = self.terms(heap, count as usize);
                let entry = FunEntry {
                    address: AtomicPtr::default(),
                    module,
                    name: atoms::UNDEFINED,
                    arity,
                    free: count,
                    index,
                    old_unique,
                    unique,
                    undefined: Default::default(),
                };
                heap.fun(Box::leak(Box::new(entry)), creator, &free)
            }
            113 => {
                let (module, name) = (self.term(heap), self.term(heap));
                let arity = self.term(heap).small_value() as u8;
                heap.external_fun(export(module, name, arity))
            }
            116 => {
                let count = self.u32() as usize;
                let pairs: Vec<(Term, Term)> = (0..count).map(|_| (self.term(heap), self.term(heap))).collect();
                map::from_pairs(heap, &pairs)
            }
            tag @ (118 | 119) => {
                let length = if tag == 118 { self.u16() as usize } else { self.u8() as usize };
                atoms::atom(std::str::from_utf8(self.take(length)).unwrap()).unwrap()
            }
            tag => panic!("tag {tag} in test data"),
        }
    }

    /// The bits as they are, or as a part of something larger that starts anywhere in a byte.
    fn bits(&mut self, heap: &mut ScratchHeap, data: &[u8], length: usize) -> Term {
        self.alignment += 1;
        let shift = self.alignment % 11;
        if shift == 0 {
            return heap.bitstring(data, length);
        }
        let mut moved = vec![0xffu8; (shift + length).div_ceil(8) + 1];
        for bit in 0..length {
            let place = shift + bit;
            let mask = 0x80 >> (place % 8);
            moved[place / 8] &= !mask;
            if data[bit / 8] & (0x80 >> (bit % 8)) != 0 {
                moved[place / 8] |= mask;
            }
        }
        let whole = heap.binary(&moved);
        heap.part_of_bits(whole, shift, length)
    }
}
