//! Random expressions of a wanted type. They may fail: what they fail with is printed as well.
//!
//! Whatever is evaluated many times over its own result is hashed on the way, so that nothing grows without bound.

use fastrand::Rng;

use super::literal;
use super::pick;

/// What an expression evaluates to, if it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Int,
    Float,
    Atom,
    Bool,
    Bits,
    /// A proper list of integers.
    Ints,
    /// A proper list.
    List,
    Tuple,
    Map,
    Any,
}

impl Type {
    pub const ALL: [Type; 10] = [
        Type::Int,
        Type::Float,
        Type::Atom,
        Type::Bool,
        Type::Bits,
        Type::Ints,
        Type::List,
        Type::Tuple,
        Type::Map,
        Type::Any,
    ];
}

/// Makes expressions: the source of randomness, the variables that are bound, and how many names were used.
#[derive(Debug)]
pub struct Generator {
    pub random: Rng,
    variables: Vec<(String, Type)>,
    used: usize,
}

impl Generator {
    /// Without variables.
    pub fn new(random: Rng) -> Generator {
        Generator { random, variables: Vec::new(), used: 0 }
    }

    /// A new variable.
    pub fn bind(&mut self, kind: Type) -> String {
        self.used += 1;
        let name = format!("V{}", self.used);
        self.variables.push((name.clone(), kind));
        name
    }

    /// Forgets all variables and returns their names.
    pub fn forget(&mut self) -> Vec<String> {
        self.variables.drain(..).map(|(name, _)| name).collect()
    }

    /// One of some.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        pick(&mut self.random, from)
    }

    fn variable(&mut self, kind: Type) -> Option<String> {
        let fits = |have: Type| have == kind || kind == Type::Any || (kind == Type::List && have == Type::Ints);
        let all: Vec<&String> = self.variables.iter().filter(|(_, have)| fits(*have)).map(|(name, _)| name).collect();
        if all.is_empty() { None } else { Some(all[self.random.usize(..all.len())].clone()) }
    }

    /// What `make` makes with one more variable, which is forgotten afterwards.
    fn with(&mut self, kind: Type, make: impl FnOnce(&str, &mut Generator) -> String) -> String {
        let bound = self.variables.len();
        let name = self.bind(kind);
        let text = make(&name, self);
        self.variables.truncate(bound);
        text
    }

    /// An expression of this type, nested no deeper than `depth`.
    pub fn expression(&mut self, kind: Type, depth: usize) -> String {
        if depth == 0 || self.random.u8(..8) == 0 { leaf(kind, self) } else { nested(kind, depth, self) }
    }
}

fn nested(kind: Type, depth: usize, g: &mut Generator) -> String {
    if g.random.u8(..5) == 0 {
        return of_any_type(kind, depth - 1, g);
    }
    match kind {
        Type::Int => integer(depth - 1, g),
        Type::Float => float(depth - 1, g),
        Type::Atom => match g.random.u8(..3) {
            0 => format!("element(2, {{x, {}}})", g.expression(Type::Atom, depth - 1)),
            1 => format!("list_to_atom(atom_to_list({}))", g.expression(Type::Atom, depth - 1)),
            _ => leaf(kind, g),
        },
        Type::Bool => boolean(depth - 1, g),
        Type::Bits => bits(depth - 1, g),
        Type::Ints => integers(depth - 1, g),
        Type::List => list(depth - 1, g),
        Type::Tuple => {
            let (a, b, c) =
                (g.expression(Type::Any, depth), g.expression(Type::Any, depth), g.expression(Type::Int, depth));
            match g.random.u8(..4) {
                0 => format!("{{{a}}}"),
                1 => format!("{{{a}, {b}, {c}}}"),
                2 => format!("setelement(({c} band 1) + 1, {{{a}, {b}}}, {c})"),
                _ => format!("list_to_tuple({})", g.expression(Type::List, depth - 1)),
            }
        }
        Type::Map => map(depth - 1, g),
        Type::Any => {
            let kind = g.pick(&Type::ALL[..Type::ALL.len() - 1]);
            g.expression(kind, depth)
        }
    }
}

fn leaf(kind: Type, g: &mut Generator) -> String {
    if g.random.u8(..3) > 0
        && let Some(variable) = g.variable(kind)
    {
        return variable;
    }
    match kind {
        Type::Int => literal::integer(&mut g.random),
        Type::Float => literal::float(&mut g.random),
        Type::Atom => literal::atom(&mut g.random).to_owned(),
        Type::Bool => g.pick(&["true", "false"]).to_owned(),
        Type::Bits => literal::bits(&mut g.random),
        Type::Ints => g.pick(&["[]", "[1, 2, 3]", "\"abcdef\"", "[5, -1, 5, 100000000000000000000]"]).to_owned(),
        Type::List => g.pick(&["[]", "[a, 1, {x}]", "[1.0, 1, 2.0]", "[[], [[]]]"]).to_owned(),
        Type::Tuple => g.pick(&["{}", "{a}", "{1, 2.0, \"c\"}"]).to_owned(),
        Type::Map => g.pick(&["#{}", "#{a => 1}", "#{1 => x, 1.0 => y, {a} => z}"]).to_owned(),
        Type::Any => literal::term(&mut g.random, 2),
    }
}

/// Control structures, which give whatever is put into them.
fn of_any_type(kind: Type, depth: usize, g: &mut Generator) -> String {
    let value = g.expression(kind, depth);
    let other = g.expression(kind, depth);
    match g.random.u8(..8) {
        0 => {
            let condition = g.expression(Type::Bool, depth);
            format!("case {condition} of true -> {value}; false -> {other} end")
        }
        1 => {
            let subject = g.expression(Type::Any, depth);
            let (third, fourth, last) = (leaf(kind, g), leaf(kind, g), leaf(kind, g));
            g.with(Type::Any, |bound, g| {
                let inner = g.expression(kind, depth);
                format!(
                    "case {subject} of {{_, _}} -> {value}; [_ | _] -> {other}; {bound} when is_integer({bound}), \
                     {bound} > 10 -> {inner}; #{{a := _}} -> {third}; <<_:3, _/bits>> -> {fourth}; _ -> {last} end"
                )
            })
        }
        2 => g.with(Type::Any, |bound, g| {
            let handler = g.expression(kind, depth);
            format!("try {value} catch _:{bound} -> {handler} end")
        }),
        3 => {
            let thrown = g.expression(Type::Any, depth);
            let class = g.pick(&["throw", "error", "exit"]);
            let after = g.expression(Type::Any, depth.saturating_sub(1));
            g.with(Type::Any, |bound, g| {
                let handler = g.expression(kind, depth);
                format!("try {class}({thrown}) of _ -> {value} catch {class}:{bound} -> {handler} after {after} end")
            })
        }
        4 => {
            let argument = g.expression(Type::Any, depth);
            g.with(Type::Any, |bound, g| {
                let body = g.expression(kind, depth);
                format!("(id(fun({bound}) -> {body} end))({argument})")
            })
        }
        5 => format!("id({value})"),
        6 => format!("hd([{value}, {other}])"),
        _ => format!("element(2, {{{other}, {value}}})"),
    }
}

fn integer(depth: usize, g: &mut Generator) -> String {
    let (a, b) = (g.expression(Type::Int, depth), g.expression(Type::Int, depth));
    match g.random.u8(..20) {
        0..=4 => format!("({a} {} {b})", g.pick(&["+", "-", "*"])),
        5 | 6 => format!("({a} {} {b})", g.pick(&["div", "rem"])),
        7 | 8 => format!("({a} {} {b})", g.pick(&["band", "bor", "bxor"])),
        9 => format!("({a} {} ({b} band 127))", g.pick(&["bsl", "bsr"])),
        10 => format!("{}({a})", g.pick(&["bnot ", "abs", "-"])),
        11 => format!("length({})", g.expression(Type::List, depth)),
        12 => format!("{}({})", g.pick(&["byte_size", "bit_size"]), g.expression(Type::Bits, depth)),
        13 => format!("map_size({})", g.expression(Type::Map, depth)),
        14 => format!("{}({})", g.pick(&["round", "trunc", "floor", "ceil"]), g.expression(Type::Float, depth)),
        15 => format!("lists:sum({})", g.expression(Type::Ints, depth)),
        16 => format!("erlang:phash2({})", g.expression(Type::Any, depth)),
        17 => {
            let list = g.expression(Type::List, depth);
            fold(&list, depth, g)
        }
        18 => {
            let from = g.expression(Type::Bits, depth);
            g.with(Type::Int, |bound, g| {
                let size = g.random.u8(1..80);
                let flags = g.pick(&["", "/signed", "/little", "/little-signed"]);
                format!("begin <<{bound}:{size}{flags}, _/bits>> = {from}, {bound} end")
            })
        }
        _ => {
            let text = format!("integer_to_{}({a}, {})", g.pick(&["list", "binary"]), g.random.u8(2..37));
            format!("erlang:phash2({text})")
        }
    }
}

fn fold(list: &str, depth: usize, g: &mut Generator) -> String {
    g.with(Type::Any, |element, g| {
        g.with(Type::Int, |sum, g| {
            let body = g.expression(Type::Any, depth.saturating_sub(1));
            format!("lists:foldl(fun({element}, {sum}) -> erlang:phash2({{{body}, {sum}}}) end, 0, {list})")
        })
    })
}

fn float(depth: usize, g: &mut Generator) -> String {
    match g.random.u8(..7) {
        0..=2 => {
            let (a, b) = (g.expression(Type::Float, depth), g.expression(Type::Float, depth));
            format!("({a} {} {b})", g.pick(&["+", "-", "*", "/"]))
        }
        3 => {
            let (a, b) = (g.expression(Type::Int, depth), g.expression(Type::Int, depth));
            format!("({a} / {b})")
        }
        4 => format!("float({})", g.expression(Type::Int, depth)),
        5 => {
            let (a, b) = (g.expression(Type::Float, depth), g.expression(Type::Int, depth));
            format!("({a} {} {b})", g.pick(&["+", "-", "*"]))
        }
        _ => format!("{}({})", g.pick(&["abs", "math:floor", "math:sqrt"]), g.expression(Type::Float, depth)),
    }
}

fn boolean(depth: usize, g: &mut Generator) -> String {
    match g.random.u8(..6) {
        0 | 1 => {
            let (a, b) = (g.expression(Type::Any, depth), g.expression(Type::Any, depth));
            format!("({a} {} {b})", g.pick(&["<", ">", "=<", ">=", "==", "/=", "=:=", "=/="]))
        }
        2 => {
            let (a, b) = (g.expression(Type::Int, depth), g.expression(Type::Float, depth));
            format!("({a} {} {b})", g.pick(&["<", ">", "=<", ">=", "==", "/=", "=:=", "=/="]))
        }
        3 => {
            let (a, b) = (g.expression(Type::Bool, depth), g.expression(Type::Bool, depth));
            format!("({a} {} {b})", g.pick(&["and", "or", "xor", "andalso", "orelse"]))
        }
        4 => {
            let test =
                ["is_integer", "is_float", "is_atom", "is_list", "is_tuple", "is_map", "is_binary", "is_bitstring"];
            format!("{}({})", g.pick(&test), g.expression(Type::Any, depth))
        }
        _ => {
            let (key, map) = (g.expression(Type::Any, depth), g.expression(Type::Map, depth));
            format!("maps:is_key({key}, {map})")
        }
    }
}

fn bits(depth: usize, g: &mut Generator) -> String {
    match g.random.u8(..9) {
        0 => {
            let (a, b) = (g.expression(Type::Bits, depth), g.expression(Type::Bits, depth));
            format!("<<({a})/bits, ({b})/bits>>")
        }
        1 | 2 => {
            let (value, size) = (g.expression(Type::Int, depth), g.expression(Type::Int, depth));
            let flags = g.pick(&["", "/little", "/signed", "/unit:3"]);
            format!("<<({value}):({size} band 95){flags}>>")
        }
        3 => {
            let (value, rest) = (g.expression(Type::Float, depth), g.expression(Type::Bits, depth));
            let flags = g.pick(&[":64/float", ":32/float", ":64/float-little"]);
            format!("<<({value}){flags}, ({rest})/bits>>")
        }
        4 => {
            let (from, size) = (g.expression(Type::Bits, depth), g.expression(Type::Int, depth));
            g.with(Type::Int, |count, g| {
                g.with(Type::Bits, |rest, _| {
                    format!("begin {count} = {size} band 31, <<_:{count}, {rest}/bits>> = {from}, {rest} end")
                })
            })
        }
        5 => {
            let from = g.expression(Type::Bits, depth);
            let (unit, out) = (g.random.u8(1..13), g.random.u8(1..13));
            g.with(Type::Int, |bound, g| {
                let value = g.expression(Type::Int, depth.saturating_sub(2));
                format!("<< <<({value}):{out}>> || <<{bound}:{unit}>> <= {from} >>")
            })
        }
        6 => {
            let list = g.expression(Type::Ints, depth);
            g.with(Type::Int, |bound, g| {
                let value = g.expression(Type::Int, depth.saturating_sub(2));
                format!("<< <<{bound}:16, ({value})>> || {bound} <- {list} >>")
            })
        }
        7 => format!("term_to_binary(n({}))", g.expression(Type::Any, depth)),
        _ => format!("integer_to_binary({})", g.expression(Type::Int, depth)),
    }
}

fn integers(depth: usize, g: &mut Generator) -> String {
    match g.random.u8(..7) {
        0 => format!(
            "[{}, {} | {}]",
            g.expression(Type::Int, depth),
            g.expression(Type::Int, depth),
            g.expression(Type::Ints, depth)
        ),
        1 => format!("({} ++ {})", g.expression(Type::Ints, depth), g.expression(Type::Ints, depth)),
        2 => format!("lists:seq(1, {} band 15)", g.expression(Type::Int, depth)),
        3 => format!("lists:{}({})", g.pick(&["sort", "reverse", "usort"]), g.expression(Type::Ints, depth)),
        4 => {
            let list = g.expression(Type::Ints, depth);
            g.with(Type::Int, |bound, g| {
                let value = g.expression(Type::Int, depth.saturating_sub(1));
                let filter = g.expression(Type::Bool, depth.saturating_sub(2));
                format!("[{value} || {bound} <- {list}, {filter}]")
            })
        }
        5 => format!("bitstring_to_list(<<({})/bits, 0:0>>)", g.expression(Type::Bits, depth)),
        _ => {
            let count = g.expression(Type::Int, depth);
            g.with(Type::Int, |bound, g| {
                let value = g.expression(Type::Int, depth.saturating_sub(1));
                format!("down({count} band 63, fun({bound}) -> {value} end)")
            })
        }
    }
}

fn list(depth: usize, g: &mut Generator) -> String {
    match g.random.u8(..10) {
        0 | 1 => format!(
            "[{}, {} | {}]",
            g.expression(Type::Any, depth),
            g.expression(Type::Any, depth),
            g.expression(Type::List, depth)
        ),
        2 => format!(
            "({} {} {})",
            g.expression(Type::List, depth),
            pick(&mut Rng::with_seed(depth as u64), &["++", "--"]),
            g.expression(Type::List, depth)
        ),
        3 => format!("tuple_to_list({})", g.expression(Type::Tuple, depth)),
        4 => format!("lists:sort({})", g.expression(Type::List, depth)),
        5 => format!("pairs({})", g.expression(Type::Map, depth)),
        6 => {
            let list = g.expression(Type::List, depth);
            g.with(Type::Any, |bound, g| {
                let value = g.expression(Type::Any, depth.saturating_sub(1));
                format!("lists:map(fun({bound}) -> {value} end, {list})")
            })
        }
        7 => {
            let (list, other) = (g.expression(Type::List, depth), g.expression(Type::Ints, depth));
            g.with(Type::Any, |outer, g| {
                g.with(Type::Int, |inner, g| {
                    let value = g.expression(Type::Any, depth.saturating_sub(2));
                    format!("[{{{outer}, {value}}} || {outer} <- {list}, {inner} <- {other}, {inner} > 1]")
                })
            })
        }
        8 => {
            let map = g.expression(Type::Map, depth);
            g.with(Type::Any, |key, _| format!("[{key} || {{{key}, _}} <- pairs({map})]"))
        }
        _ => {
            let count = g.expression(Type::Int, depth);
            g.with(Type::Int, |bound, g| {
                let value = g.expression(Type::Any, depth.saturating_sub(1));
                format!("[up(0, {count} band 255, fun({bound}) -> {value} end, 0)]")
            })
        }
    }
}

fn map(depth: usize, g: &mut Generator) -> String {
    match g.random.u8(..9) {
        0 => format!(
            "#{{{} => {}, {} => {}}}",
            g.expression(Type::Any, depth),
            g.expression(Type::Any, depth),
            g.expression(Type::Int, depth),
            g.expression(Type::Any, depth)
        ),
        1 | 2 => format!(
            "({})#{{{} => {}}}",
            g.expression(Type::Map, depth),
            g.expression(Type::Any, depth),
            g.expression(Type::Any, depth)
        ),
        3 => format!(
            "({})#{{{} := {}}}",
            g.expression(Type::Map, depth),
            g.expression(Type::Atom, depth),
            g.expression(Type::Any, depth)
        ),
        4 => format!("maps:merge({}, {})", g.expression(Type::Map, depth), g.expression(Type::Map, depth)),
        5 => format!("maps:remove({}, {})", g.expression(Type::Any, depth), g.expression(Type::Map, depth)),
        6 | 7 => {
            let count = g.expression(Type::Int, depth);
            g.with(Type::Int, |bound, g| {
                let key = g.expression(Type::Any, depth.saturating_sub(2));
                let value = g.expression(Type::Any, depth.saturating_sub(2));
                format!(
                    "maps:from_list([{{{{{bound} rem 50, {key}}}, {value}}} || {bound} <- lists:seq(1, {count} band 127)])"
                )
            })
        }
        _ => {
            let map = g.expression(Type::Map, depth);
            g.with(Type::Any, |key, g| {
                g.with(Type::Any, |old, g| {
                    let value = g.expression(Type::Any, depth.saturating_sub(2));
                    format!("maps:from_list([{{{key}, {value}}} || {{{key}, {old}}} <- pairs({map})])")
                })
            })
        }
    }
}
