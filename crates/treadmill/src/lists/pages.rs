//! The pages of the segregated lists: which class each serves, which are free, and how free ones move between lists.

use super::header::{Info, Node};
use super::{FREE, Lists, PAGE_WORDS};

/// A page that no list has.
const NO_CLASS: u8 = 255;
const NOWHERE: u32 = u32::MAX;

/// What is known of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// The class whose blocks it was cut into; [`NO_CLASS`] if none.
    pub(super) class: u8,
    /// Whether page filling has put blocks of other classes onto it.
    pub(super) mixed: bool,
    /// The collection in which something on it was last allocated or marked.
    pub(super) epoch: u32,
    /// Place in `Pages::free`, or [`NOWHERE`].
    free: u32,
    /// Place in `Pages::small`, or [`NOWHERE`].
    small: u32,
    /// Pages of the run that begins here, for large objects.
    pub(super) run: u32,
    /// Words lost at the end of the large object that begins here.
    pub(super) lost: u32,
}

const NONE: Page = Page { class: NO_CLASS, mixed: false, epoch: 0, free: NOWHERE, small: NOWHERE, run: 0, lost: 0 };

/// The table of pages.
#[derive(Debug, Default)]
pub(super) struct Pages {
    table: Vec<Page>,
    /// Pages cut into blocks, all of them white.
    free: Vec<u32>,
    /// Pages cut into blocks no longer than a page.
    small: Vec<u32>,
}

impl Pages {
    pub(super) fn get(&self, page: u32) -> Page {
        self.table.get(page as usize).copied().unwrap_or(NONE)
    }

    pub(super) fn get_mut(&mut self, page: u32) -> &mut Page {
        let index = page as usize;
        if index >= self.table.len() {
            self.table.resize(index + 1, NONE);
        }
        &mut self.table[index]
    }

    #[inline]
    pub(super) fn touch(&mut self, page: u32, cycle: u32) {
        self.get_mut(page).epoch = cycle;
    }

    pub(super) fn small(&self) -> &[u32] {
        &self.small
    }

    pub(super) fn free_count(&self) -> usize {
        self.free.len()
    }

    pub(super) fn is_free(&self, page: u32) -> bool {
        self.get(page).free != NOWHERE
    }

    /// A page in use again.
    #[inline]
    pub(super) fn not_free(&mut self, page: u32) {
        let place = self.get(page).free;
        if place == NOWHERE {
            return;
        }
        self.free.swap_remove(place as usize);
        if let Some(moved) = self.free.get(place as usize).copied() {
            self.get_mut(moved).free = place;
        }
        self.get_mut(page).free = NOWHERE;
    }

    pub(super) fn make_free(&mut self, page: u32) {
        if !self.is_free(page) {
            self.get_mut(page).free = self.free.len() as u32;
            self.free.push(page);
        }
    }

    pub(super) fn any_free(&self) -> Option<u32> {
        self.free.last().copied()
    }

    fn add_small(&mut self, page: u32) {
        if self.get(page).small == NOWHERE {
            self.get_mut(page).small = self.small.len() as u32;
            self.small.push(page);
        }
    }

    fn drop_small(&mut self, page: u32) {
        let place = self.get(page).small;
        if place == NOWHERE {
            return;
        }
        self.small.swap_remove(place as usize);
        if let Some(moved) = self.small.get(place as usize).copied() {
            self.get_mut(moved).small = place;
        }
        *self.get_mut(page) = NONE;
    }
}

impl Lists {
    fn first_node(page: u32) -> Node {
        page as Node * PAGE_WORDS as Node + 1
    }

    /// The blocks of a small page, in address order.
    pub(super) fn blocks_of(&self, page: u32) -> Vec<Node> {
        let info = self.pages.get(page);
        let first = Lists::first_node(page);
        let block = self.classes[info.class as usize].words;
        if !info.mixed {
            return (0..PAGE_WORDS / block).map(|i| first + (i * block) as Node).collect();
        }
        let mut blocks = Vec::new();
        let mut node = first;
        while node < first + PAGE_WORDS as Node {
            blocks.push(node);
            let length = self.access.info(node).length as Node;
            if length == 0 {
                break;
            }
            node += length;
        }
        blocks
    }

    /// Puts new blocks onto the class's white list: of a migrated free page, or of a page that no list had.
    pub(super) fn refill(&mut self, class: usize) -> bool {
        let words = self.classes[class].words;
        if words > PAGE_WORDS {
            return self.refill_run(class);
        }
        let page = if self.settings.page_migration
            && let Some(page) = self.pages.any_free()
        {
            self.uncut(page);
            self.migrated += 1;
            Some(page)
        } else {
            self.space.take_page()
        };
        let Some(page) = page else { return false };
        self.cut(page, class);
        true
    }

    /// One block of several pages, of the base line's long classes.
    fn refill_run(&mut self, class: usize) -> bool {
        let pages = (self.classes[class].words / PAGE_WORDS) as u32;
        let Some(page) = self.space.take_run(pages) else {
            return false;
        };
        *self.pages.get_mut(page) = Page { class: class as u8, run: pages, ..NONE };
        let access = self.access;
        self.classes[class].white.push(access, Lists::first_node(page));
        true
    }

    fn cut(&mut self, page: u32, class: usize) {
        let block = self.classes[class].words;
        *self.pages.get_mut(page) = Page { class: class as u8, ..NONE };
        self.pages.add_small(page);
        let access = self.access;
        let first = Lists::first_node(page);
        for index in (0..PAGE_WORDS / block).rev() {
            let node = first + (index * block) as Node;
            let info = Info { class: class as u8, colour: FREE, length: block as u16, padding: 0 };
            access.set_info(node, info);
            self.classes[class].white.push(access, node);
        }
        self.pages.make_free(page);
    }

    /// Takes the blocks of a free page off their lists; the page belongs to no list then.
    fn uncut(&mut self, page: u32) {
        let access = self.access;
        let mixed = self.pages.get(page).mixed;
        let of_page = self.pages.get(page).class as usize;
        for node in self.blocks_of(page) {
            let class = if mixed { access.info(node).class as usize } else { of_page };
            if class != super::filling::FILLER as usize {
                self.classes[class].white.remove(access, node);
            }
        }
        self.pages.not_free(page);
        self.pages.drop_small(page);
    }

    /// A run of pages for a large object.
    pub(super) fn take_large(&mut self, class: usize, total: usize) -> Option<Node> {
        let pages = total.div_ceil(PAGE_WORDS) as u32;
        let migration = self.clock_start();
        if self.settings.remapping {
            while self.space.available() < pages {
                let Some(page) = self.pages.any_free() else { break };
                self.uncut(page);
                self.space.give_page(page);
                self.migrated += 1;
            }
        }
        let run = self.space.take_run(pages);
        self.clock_stop(migration, |times| &mut times.migration);
        let page = run?;
        *self.pages.get_mut(page) =
            Page { class: class as u8, run: pages, lost: (pages as usize * PAGE_WORDS - total) as u32, ..NONE };
        Some(Lists::first_node(page))
    }

    /// Gives a dead large object's pages back.
    pub(super) fn give_large(&mut self, node: Node) {
        let page = self.page_of(node);
        let run = self.pages.get(page).run;
        *self.pages.get_mut(page) = NONE;
        self.space.give_run(page, run);
    }
}
