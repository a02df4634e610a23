//! Makes `.beam` files from opcodes and operands.

/// An operand.
#[derive(Clone, Debug)]
pub enum Arg {
    U(u64),
    I(i64),
    /// An atom by name.
    A(&'static str),
    Nil,
    X(u64),
    Y(u64),
    F(u64),
    /// Floating-point register.
    Fr(u64),
    Literal(u64),
    /// X register with a type hint.
    TypedX(u64, u64),
    List(Vec<Arg>),
    /// Words, floats and funs.
    Alloc(u64, u64, u64),
    /// Bytes as they are.
    Raw(&'static [u8]),
}

/// How a release writes its tables.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Up to OTP 27.
    Old,
    /// From OTP 28: compact atom lengths behind a negative count, literals not compressed.
    New,
}

/// A file in the making.
pub struct Assembler {
    atoms: Vec<&'static str>,
    code: Vec<u8>,
    labels: u32,
    functions: u32,
    pub imports: Vec<(&'static str, &'static str, u32)>,
    pub exports: Vec<(&'static str, u32, u32)>,
    pub lambdas: Vec<(&'static str, u32, u32, u32)>,
    pub literals: Vec<Vec<u8>>,
    pub strings: Vec<u8>,
    pub lines: Option<Vec<u8>>,
    pub format: Format,
}

impl Assembler {
    pub fn new(module: &'static str) -> Self {
        Assembler {
            atoms: vec![module],
            code: Vec::new(),
            labels: 1,
            functions: 0,
            imports: Vec::new(),
            exports: Vec::new(),
            lambdas: Vec::new(),
            literals: Vec::new(),
            strings: Vec::new(),
            lines: None,
            format: Format::Old,
        }
    }

    /// Appends one instruction.
    pub fn op(&mut self, number: u8, args: &[Arg]) -> &mut Self {
        self.code.push(number);
        for arg in args {
            self.arg(arg);
        }
        match (number, args.first()) {
            (1, Some(Arg::U(label))) => self.labels = self.labels.max(*label as u32 + 1),
            (2, _) => self.functions += 1,
            _ => {}
        }
        self
    }

    /// Label, `func_info` and the label of the entry, which is `label + 1`.
    pub fn function(&mut self, name: &'static str, arity: u64, label: u64) -> &mut Self {
        let module = self.atoms[0];
        self.op(1, &[Arg::U(label)]).op(2, &[Arg::A(module), Arg::A(name), Arg::U(arity)]).op(1, &[Arg::U(label + 1)])
    }

    fn atom(&mut self, name: &'static str) -> u64 {
        let index = self.atoms.iter().position(|&known| known == name).unwrap_or_else(|| {
            self.atoms.push(name);
            self.atoms.len() - 1
        });
        index as u64 + 1
    }

    fn arg(&mut self, arg: &Arg) {
        match arg {
            Arg::U(value) => compact(0, *value, &mut self.code),
            Arg::I(value) if *value < 0 => {
                self.code.push(1 | 0x18 | 6 << 5);
                self.code.extend(value.to_be_bytes());
            }
            Arg::I(value) => compact(1, *value as u64, &mut self.code),
            Arg::A(name) => {
                let number = self.atom(name);
                compact(2, number, &mut self.code);
            }
            Arg::Nil => compact(2, 0, &mut self.code),
            Arg::X(index) => compact(3, *index, &mut self.code),
            Arg::Y(index) => compact(4, *index, &mut self.code),
            Arg::F(label) => compact(5, *label, &mut self.code),
            Arg::Fr(index) => self.extended(2, &[*index]),
            Arg::Literal(index) => self.extended(4, &[*index]),
            Arg::TypedX(index, hint) => {
                self.code.push(5 << 4 | 7);
                compact(3, *index, &mut self.code);
                compact(0, *hint, &mut self.code);
            }
            Arg::List(items) => {
                self.extended(1, &[items.len() as u64]);
                items.iter().for_each(|item| self.arg(item));
            }
            Arg::Alloc(words, floats, funs) => {
                self.extended(3, &[3, 0, *words, 1, *floats, 2, *funs]);
            }
            Arg::Raw(bytes) => self.code.extend(*bytes),
        }
    }

    fn extended(&mut self, kind: u8, numbers: &[u64]) {
        self.code.push(kind << 4 | 7);
        numbers.iter().for_each(|&number| compact(0, number, &mut self.code));
    }

    /// The file.
    pub fn file(&mut self) -> Vec<u8> {
        let mut imports = Vec::new();
        for (module, name, arity) in self.imports.clone() {
            let numbers = [self.atom(module) as u32, self.atom(name) as u32, arity];
            numbers.iter().for_each(|number| imports.extend(number.to_be_bytes()));
        }
        let mut exports = Vec::new();
        for (name, arity, label) in self.exports.clone() {
            let numbers = [self.atom(name) as u32, arity, label];
            numbers.iter().for_each(|number| exports.extend(number.to_be_bytes()));
        }
        let mut lambdas = Vec::new();
        for (name, arity, label, free) in self.lambdas.clone() {
            let numbers = [self.atom(name) as u32, arity, label, 0, free, 4711];
            numbers.iter().for_each(|number| lambdas.extend(number.to_be_bytes()));
        }

        let mut atoms = Vec::new();
        for name in &self.atoms {
            match self.format {
                Format::Old => atoms.push(name.len() as u8),
                Format::New => compact(0, name.len() as u64, &mut atoms),
            }
            atoms.extend(name.as_bytes());
        }
        let count = self.atoms.len() as i32;
        let count = if self.format == Format::New { -count } else { count };

        let mut code = Vec::new();
        let header = [16, 0, 191, self.labels, self.functions];
        header.iter().for_each(|number| code.extend(number.to_be_bytes()));
        code.extend(&self.code);
        code.push(3);

        let mut chunks = vec![
            (b"AtU8", [&count.to_be_bytes(), &atoms[..]].concat()),
            (b"Code", code),
            (b"StrT", self.strings.clone()),
            (b"ImpT", counted(self.imports.len(), &imports)),
            (b"ExpT", counted(self.exports.len(), &exports)),
        ];
        if !self.lambdas.is_empty() {
            chunks.push((b"FunT", counted(self.lambdas.len(), &lambdas)));
        }
        if !self.literals.is_empty() {
            chunks.push((b"LitT", self.literal_chunk()));
        }
        if let Some(lines) = &self.lines {
            chunks.push((b"Line", lines.clone()));
        }
        form(&chunks)
    }

    fn literal_chunk(&self) -> Vec<u8> {
        let mut terms = Vec::new();
        for literal in &self.literals {
            terms.extend((literal.len() as u32).to_be_bytes());
            terms.extend(literal);
        }
        let table = counted(self.literals.len(), &terms);
        match self.format {
            Format::New => [&[0; 4], &table[..]].concat(),
            Format::Old => {
                let mut packed = (table.len() as u32).to_be_bytes().to_vec();
                packed.extend(zlib(&table));
                packed
            }
        }
    }
}

/// Chunks in the container, each padded.
pub fn form(chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut body = b"BEAM".to_vec();
    for (name, data) in chunks {
        body.extend(*name);
        body.extend((data.len() as u32).to_be_bytes());
        body.extend(data);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    [b"FOR1", &(body.len() as u32).to_be_bytes()[..], &body].concat()
}

/// A number behind its tag.
pub fn compact(tag: u8, value: u64, out: &mut Vec<u8>) {
    if value < 16 {
        out.push((value as u8) << 4 | tag);
    } else if value < 2048 {
        out.extend([((value >> 3) as u8 & 0xe0) | 0x08 | tag, value as u8]);
    } else {
        // Nine bytes hold every value with a sign bit of 0.
        out.extend([0xf8 | tag, 0, 0]);
        out.extend(value.to_be_bytes());
    }
}

pub fn zlib(data: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(data).expect("memory");
    encoder.finish().expect("memory")
}

pub fn gzip(data: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(data).expect("memory");
    encoder.finish().expect("memory")
}

fn counted(count: usize, entries: &[u8]) -> Vec<u8> {
    [&(count as u32).to_be_bytes(), entries].concat()
}
