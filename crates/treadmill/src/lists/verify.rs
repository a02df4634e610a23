//! The invariants of [`super`], checked one by one.

use super::header::{List, Node};
use super::{Lists, PAGE_WORDS};
use crate::config::Headers;
use crate::error::Violation;
use std::collections::HashMap;

#[cfg(all(test, not(loom)))]
mod tests;

impl Lists {
    /// Checks TM1 to TM6 by walking every list. The world must be stopped.
    pub(crate) fn verify(&self) -> Result<(), Violation> {
        let mut places: HashMap<Node, &str> = HashMap::new();
        for (index, class) in self.classes.iter().enumerate() {
            let lists = [
                ("white", class.white, None),
                ("ecru", class.ecru, Some(self.ecru_colour())),
                ("grey", class.grey, Some(self.live)),
                ("black", class.black, Some(self.live)),
            ];
            for (name, list, colour) in lists {
                for node in self.checked(list)? {
                    if let Some(other) = places.insert(node, name) {
                        return self.broken("TM1", node, format!("in {other} and in {name}"));
                    }
                    let info = self.access.info(node);
                    if colour.is_some_and(|colour| colour != info.colour) {
                        return self.broken("TM2", node, format!("{name}, colour {}", info.colour));
                    }
                    if self.settings.headers != Headers::PackedOne && info.class as usize != index {
                        return self.broken("TM3", node, format!("class {} in {index}", info.class));
                    }
                    let page = self.pages.get(self.page_of(node));
                    if !page.mixed && page.class as usize != index {
                        return self.broken("TM3", node, format!("page of class {}", page.class));
                    }
                    if name != "white" && self.pages.is_free(self.page_of(node)) {
                        return self.broken("TM4", node, format!("{name} on a free page"));
                    }
                }
            }
            if !self.marking && (class.grey.head, class.black.head) != (0, 0) {
                return self.broken("TM6", class.grey.head.max(class.black.head), "not empty".into());
            }
        }
        if self.space.in_use() > self.space.limit() {
            return self.broken("TM5", 1, format!("{} pages", self.space.in_use()));
        }
        Ok(())
    }

    fn checked(&self, list: List) -> Result<Vec<Node>, Violation> {
        let pages = self.space.area().range().len() / 8 / PAGE_WORDS;
        let (mut nodes, mut previous, mut node) = (Vec::new(), 0, list.head);
        while node != 0 {
            if node > (pages * PAGE_WORDS) as Node || nodes.len() as u64 >= list.length {
                self.broken("TM1", previous.max(1), format!("link to {node}"))?;
            }
            if self.access.previous(node) != previous {
                self.broken("TM1", node, format!("back link, not to {previous}"))?;
            }
            nodes.push(node);
            previous = node;
            node = self.access.next(node);
        }
        if list.tail != previous || nodes.len() as u64 != list.length {
            self.broken("TM1", previous.max(1), format!("{} blocks of {}", nodes.len(), list.length))?;
        }
        Ok(nodes)
    }

    fn broken(&self, invariant: &'static str, node: Node, found: String) -> Result<(), Violation> {
        Err(Violation { invariant, address: self.object(node), found })
    }
}
