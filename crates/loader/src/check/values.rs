//! Where values come from, as far as their types may follow from it: the arguments and results of the module's own
//! functions, and the elements of tuples that it builds.
//!
//! The walk over a function knows nothing of callers and of functions that are called. It notes instead, for each
//! value, a node: which argument it is, which function's result, which element of which value. When all functions have
//! been walked over, what is asked of some values is answered from what flows into their nodes, however many functions
//! it comes through.

use std::collections::HashMap;

use super::types::Type;

/// What is known of the value in a register: by itself, and by its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) kind: Type,
    /// Registers with the same node hold the same value; [`Value::UNNAMED`] says nothing.
    pub(super) node: u32,
}

impl Value {
    pub(super) const UNNAMED: u32 = 0;
    /// Nodes from this one on are names only: nothing is known of where such values come from.
    const NAMES: u32 = 1 << 31;

    pub(super) const ABSENT: Value = Value::unnamed(Type::ABSENT);

    pub(super) const fn unnamed(kind: Type) -> Value {
        Value { kind, node: Value::UNNAMED }
    }

    const fn is_traced(self) -> bool {
        self.node != Value::UNNAMED && self.node < Value::NAMES
    }

    /// Whether it may be any term, and no later test narrows that.
    fn is_open(self) -> bool {
        !self.is_traced() && self.kind.join(Type::TERM) == self.kind
    }
}

#[derive(Clone, Copy)]
enum Node {
    /// Whatever flows in.
    Any { first: u32 },
    /// Whatever flows in at a label; the label tells that it belongs there.
    Join { first: u32, label: u32 },
    /// A tuple of the elements that flow in, in their order backwards.
    Tuple { first: u32 },
    /// An element of what the node gives, counted from 0; the level is 1, or one more than that of the node.
    Element { of: u32, position: u32, level: u32 },
    /// Any term, where ways come together at a label.
    Closed { label: u32 },
    /// Any term.
    Unknown,
}

/// End of a list of flows.
const END: u32 = u32::MAX;

/// Most nodes and flows; in a file that has more, no value is traced any further.
const MOST: usize = 1 << 22;

/// Elements of elements of elements are followed no further.
const DEEPEST: u32 = 3;

/// All nodes of a module.
pub(super) struct Values {
    nodes: Vec<Node>,
    /// What flows into nodes: lists.
    flows: Vec<(Value, u32)>,
    /// The first node of each function: its arguments, then its result.
    functions: Vec<u32>,
    names: u32,
}

impl Values {
    /// The functions, each by its arity, whether other modules may call it, and whether its result may be any term.
    pub(super) fn new(functions: impl Iterator<Item = (u8, bool, bool)>) -> Values {
        let mut nodes = vec![Node::Unknown];
        let mut first = Vec::new();
        for (arity, is_open, is_built_in) in functions {
            first.push(nodes.len() as u32);
            let argument = if is_open { Node::Unknown } else { Node::Any { first: END } };
            nodes.resize(nodes.len() + usize::from(arity), argument);
            nodes.push(if is_built_in { Node::Unknown } else { Node::Any { first: END } });
        }
        Values { nodes, flows: Vec::new(), functions: first, names: Value::NAMES }
    }

    /// A value of which nothing else is known than that it is one.
    pub(super) fn name(&mut self, kind: Type) -> Value {
        // A name that is used twice would have to be that of values 2^31 instructions apart.
        self.names = self.names.wrapping_add(1) | Value::NAMES;
        Value { kind, node: self.names }
    }

    pub(super) fn argument(&self, function: usize, argument: u8, kind: Type) -> Value {
        Value { kind, node: self.functions[function] + u32::from(argument) }
    }

    /// Whatever the function returns: not one value.
    pub(super) fn result(&self, function: usize, arity: u8) -> Value {
        Value { kind: Type::TERM, node: self.functions[function] + u32::from(arity) }
    }

    /// What one call of the function returns.
    pub(super) fn call(&mut self, function: usize, arity: u8) -> Value {
        let result = self.add(Type::TERM, Node::Any { first: END });
        if result.is_traced() {
            self.flow(result.node, self.result(function, arity));
        }
        result
    }

    fn is_full(&self) -> bool {
        self.nodes.len() + self.flows.len() > MOST
    }

    fn flow(&mut self, into: u32, value: Value) {
        debug_assert!(value.kind.is_present(), "only terms flow");
        let full = self.is_full();
        let end = self.flows.len() as u32;
        match &mut self.nodes[into as usize] {
            node @ Node::Join { .. } if full || value.is_open() => {
                if let Node::Join { label, .. } = *node {
                    *node = Node::Closed { label };
                }
            }
            node @ Node::Any { .. } if full || value.is_open() => *node = Node::Unknown,
            node if full => *node = Node::Unknown,
            Node::Any { first } | Node::Join { first, .. }
                if self.flows.get(*first as usize).is_some_and(|last| last.0 == value) => {}
            Node::Any { first } | Node::Join { first, .. } | Node::Tuple { first } => {
                let next = std::mem::replace(first, end);
                self.flows.push((value, next));
            }
            Node::Element { .. } | Node::Closed { .. } | Node::Unknown => {}
        }
    }

    /// A local call passes this argument.
    pub(super) fn pass(&mut self, function: usize, argument: u16, value: Value) {
        self.flow(self.functions[function] + u32::from(argument), value);
    }

    /// The function may return this.
    pub(super) fn give(&mut self, function: usize, arity: u8, value: Value) {
        self.flow(self.functions[function] + u32::from(arity), value);
    }

    fn add(&mut self, kind: Type, node: Node) -> Value {
        if self.is_full() {
            return self.name(kind);
        }
        self.nodes.push(node);
        Value { kind, node: self.nodes.len() as u32 - 1 }
    }

    /// A new tuple of these elements.
    pub(super) fn tuple(&mut self, kind: Type, elements: impl Iterator<Item = Value>) -> Value {
        let tuple = self.add(kind, Node::Tuple { first: END });
        if tuple.is_traced() {
            elements.for_each(|element| self.flow(tuple.node, element));
        }
        tuple
    }

    /// An element of a tuple.
    pub(super) fn element(&mut self, tuple: Value, position: u32) -> Value {
        if !tuple.is_traced() {
            return self.name(Type::TERM);
        }
        match self.nodes[tuple.node as usize] {
            Node::Unknown | Node::Closed { .. } | Node::Element { level: DEEPEST, .. } => self.name(Type::TERM),
            Node::Element { level, .. } => {
                self.add(Type::TERM, Node::Element { of: tuple.node, position, level: level + 1 })
            }
            _ => self.add(Type::TERM, Node::Element { of: tuple.node, position, level: 1 }),
        }
    }

    /// What a register holds where ways come together: `old` until now. Values keep their nodes, or get one of this
    /// label.
    pub(super) fn join(&mut self, label: u32, old: Value, new: Value) -> Value {
        let kind = old.kind.join(new.kind);
        if !kind.is_present() {
            return Value::ABSENT;
        }
        if old.node == new.node {
            return Value { kind, node: old.node };
        }
        if old.is_traced()
            && matches!(self.nodes[old.node as usize], Node::Join { label: of, .. } | Node::Closed { label: of } if of == label)
        {
            self.flow(old.node, new);
            return Value { kind, node: old.node };
        }
        let joined = self.add(kind, Node::Join { first: END, label });
        if joined.is_traced() {
            self.flow(joined.node, old);
            self.flow(joined.node, new);
            joined
        } else {
            Value::unnamed(kind)
        }
    }

    /// The types of the nodes that these values have, and of what flows into them.
    pub(super) fn solve(&mut self, asked: impl Iterator<Item = Value>) -> Solution {
        let mut solution = Solution { places: vec![0; self.nodes.len()], types: Vec::new() };
        if self.is_full() {
            return solution;
        }
        // Elements that are asked for on the way make nodes, too.
        let mut solver = Solver { values: self, elements: HashMap::new(), order: Vec::new() };
        for value in asked {
            solver.demand(value, &mut solution);
        }
        let order = solver.order;
        loop {
            let mut changed = false;
            for (place, equation) in order.iter().enumerate() {
                let joined = equation.iter().fold(solution.types[place], |kind, value| kind.join(solution.of(*value)));
                changed |= joined != solution.types[place];
                solution.types[place] = joined;
            }
            if changed {
                continue;
            }
            // What never comes may come all the same, where the machine has its own code for a function that only
            // raises.
            let mut ended = true;
            for (place, equation) in order.iter().enumerate() {
                if equation.is_empty() && solution.types[place] == Type::NOTHING {
                    solution.types[place] = Type::TERM;
                    ended = false;
                }
            }
            if ended {
                return solution;
            }
        }
    }
}

/// The types of some nodes.
pub(super) struct Solution {
    /// By node, where its type is, plus one.
    places: Vec<u32>,
    types: Vec<Type>,
}

impl Solution {
    fn place(&self, node: u32) -> Option<usize> {
        self.places.get(node as usize)?.checked_sub(1).map(|place| place as usize)
    }

    /// What is known of a value.
    pub(super) fn of(&self, value: Value) -> Type {
        match self.place(value.node) {
            Some(place) if value.kind.is_present() && self.types[place].is_present() => {
                value.kind.meet(self.types[place])
            }
            _ => value.kind,
        }
    }
}

struct Solver<'v> {
    values: &'v mut Values,
    /// The nodes of elements that were asked for: of which node, which position.
    elements: HashMap<(u32, u32), u32>,
    /// What the demanded nodes are joined from.
    order: Vec<Vec<Value>>,
}

impl Solver<'_> {
    fn demand(&mut self, value: Value, solution: &mut Solution) {
        let mut waiting = vec![value];
        while let Some(value) = waiting.pop() {
            if !value.is_traced() || solution.place(value.node).is_some() {
                continue;
            }
            let node = value.node as usize;
            if node >= solution.places.len() {
                solution.places.resize(node + 1, 0);
            }
            solution.places[node] = self.order.len() as u32 + 1;
            let equation = self.equation(value.node);
            waiting.extend(&equation);
            self.order.push(equation);
            solution.types.push(Type::NOTHING);
        }
    }

    fn flows(&self, first: u32) -> Vec<Value> {
        let mut at = first;
        let mut flows = Vec::new();
        while let Some(&(value, next)) = self.values.flows.get(at as usize) {
            flows.push(value);
            at = next;
        }
        flows
    }

    /// What a node is joined from.
    fn equation(&mut self, node: u32) -> Vec<Value> {
        match self.values.nodes[node as usize] {
            Node::Unknown | Node::Closed { .. } => vec![Value::unnamed(Type::TERM)],
            Node::Tuple { .. } => vec![Value::unnamed(Type::TUPLE)],
            Node::Any { first } | Node::Join { first, .. } => self.flows(first),
            Node::Element { of, position, .. } => {
                if let Node::Tuple { first } = self.values.nodes[of as usize] {
                    let elements = self.flows(first);
                    let index = elements.len().checked_sub(position as usize + 1);
                    return index.map(|index| elements[index]).into_iter().collect();
                }
                // Levels bound how deep this goes.
                let tuples = self.equation(of).into_iter().filter(|value| value.kind.may_be(Type::TUPLE));
                tuples.map(|tuple| self.element(tuple, position)).collect()
            }
        }
    }

    fn element(&mut self, tuple: Value, position: u32) -> Value {
        if let Some(&node) = self.elements.get(&(tuple.node, position)) {
            return Value { kind: Type::TERM, node };
        }
        let element = self.values.element(tuple, position);
        self.elements.insert((tuple.node, position), element.node);
        element
    }
}
