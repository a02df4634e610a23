//! The allocation sites of all translated code: three handlers for each, of which one stands in the code.
//!
//! * `private` builds on the process's heap, and knows nothing of sites;
//! * `area` builds in the message area if the parts allow it;
//! * [`sampled`] builds on the process's heap and tells the architecture of it, a few times; then it puts back what
//!   stood there.
//!
//! Copies of functions that belong to native code have the same sites as the code that they were made of.

use std::sync::atomic::{AtomicU64, Ordering};

use atoll_analysis::{Verdict, analyse, analyse_messages};
use atoll_code::second_engine;
use atoll_heap::{BuildInArea, Site, Sites, allocation_sites, settings};
use atoll_loader::Module;
use atoll_term::{Term, Word};
use parking_lot::Mutex;

use atoll_runtime::core::{Core, Exit, Handler};

/// Objects of which a site tells when it is sampled.
const SAMPLES: u8 = 4;

/// One site of a module, as translated.
#[derive(Clone, Copy)]
pub struct NewSite {
    /// Word of the module's code where the instruction begins.
    pub offset: u32,
    /// Index of the instruction in the loader's code.
    pub index: u32,
    /// It builds a cons, not a tuple.
    pub is_cons: bool,
    /// Its handler for the process's heap.
    pub private: Handler,
    /// Its handler for the message area.
    pub area: Handler,
}

struct OneSite {
    new: NewSite,
    in_area: bool,
    /// The analysis says that its objects stay in their process, and this is checked: it tells of all of them.
    is_checked: bool,
    /// Objects that it is yet to tell of.
    left: u8,
}

/// What the message analysis says of a site.
#[derive(Clone, Copy, Default)]
struct Verdicts {
    /// Its objects are always sent, and part of something that grows.
    is_message: bool,
    never_leaves: bool,
}

struct ModuleSites {
    /// The code's first word.
    code: usize,
    /// That of the module's code, of which it may be a copy.
    original: usize,
    /// In the order of their instructions.
    sites: Vec<OneSite>,
}

/// In the order of their addresses.
#[derive(Default)]
struct Modules(Vec<ModuleSites>);

impl ModuleSites {
    fn address(&self, site: &OneSite) -> Site {
        self.code + site.new.offset as usize * size_of::<Word>()
    }

    /// The site of an instruction.
    fn at(&self, index: u32) -> Option<&OneSite> {
        self.sites.binary_search_by_key(&index, |site| site.new.index).ok().map(|place| &self.sites[place])
    }

    fn write(&self, site: &OneSite, handler: Handler) {
        let address = self.address(site) as *const AtomicU64;
        // SAFETY: the word of an instruction in code that is not freed before it was forgotten here; engines read it
        // whole.
        unsafe { &*address }.store(atoll_runtime::core::handler(handler), Ordering::Relaxed);
    }
}

impl OneSite {
    fn usual(&self) -> Handler {
        match self.in_area {
            _ if self.is_checked => sampled,
            true => self.new.area,
            false => self.new.private,
        }
    }
}

/// The interpreter's part of a machine: the sites of all translated code.
#[derive(Default)]
pub struct Part {
    modules: Mutex<Modules>,
}

atoll_platform::part_of_machine!(Part);

/// What is said of the sites of a module or of a function, by index of the instruction. It is asked for where it is
/// needed only.
#[derive(Default)]
pub struct Advice(Vec<(u32, Verdicts)>);

impl Advice {
    /// What the analysis says, as far as anybody asks.
    pub fn of(module: &Module, is_built_in: impl Fn(&str, u8) -> bool) -> Advice {
        let analysis = match settings().area {
            _ if settings().verify => analyse(module, is_built_in),
            BuildInArea::Analysis => analyse_messages(module, is_built_in),
            _ => return Advice::default(),
        };
        let verdicts = analysis.sites.iter().map(|site| {
            let is_message = site.likely && site.grows;
            (site.index, Verdicts { is_message, never_leaves: site.verdict == Verdict::Never })
        });
        Advice(verdicts.filter(|(_, said)| said.is_message || said.never_leaves).collect())
    }

    fn at(&self, index: u32) -> Verdicts {
        self.0.binary_search_by_key(&index, |(index, _)| *index).map(|place| self.0[place].1).unwrap_or_default()
    }
}

/// Adds the sites of a module's code that stands at `code`, in the order of their offsets, and has them build where
/// they should.
pub fn add(code: usize, sites: Vec<NewSite>, advice: Advice) {
    let settings = settings();
    let sites = sites.into_iter().map(|new| {
        let said = advice.at(new.index);
        let in_area = match settings.area {
            BuildInArea::Always => true,
            BuildInArea::Analysis => said.is_message,
            BuildInArea::Feedback | BuildInArea::Use | BuildInArea::Never => false,
        };
        OneSite { new, in_area, is_checked: settings.verify && said.never_leaves, left: 0 }
    });
    part().modules.lock().add(ModuleSites { code, original: code, sites: sites.collect() });
}

/// Adds the sites of a copy of a function, which stands at `code`. `original`: its module's code.
pub fn add_copy(code: usize, original: usize, sites: Vec<NewSite>) {
    let mut modules = part().modules.lock();
    let sites = sites.into_iter().map(|new| {
        let of_original = modules.of(original).and_then(|module| module.at(new.index));
        let (in_area, is_checked) = of_original.map_or((false, false), |site| (site.in_area, site.is_checked));
        OneSite { new, in_area, is_checked, left: 0 }
    });
    let sites = sites.collect();
    modules.add(ModuleSites { code, original, sites });
}

/// Forgets the sites of a module's code, which is about to be freed. A later report about such a site has no effect, or
/// concerns the code that has been loaded at the same address.
pub fn forget(code: usize) {
    part().modules.lock().0.retain(|module| module.code != code);
}

impl Modules {
    fn of(&self, code: usize) -> Option<&ModuleSites> {
        self.0.binary_search_by_key(&code, |module| module.code).ok().map(|place| &self.0[place])
    }

    fn add(&mut self, module: ModuleSites) {
        for site in module.sites.iter().filter(|site| site.in_area || site.is_checked) {
            module.write(site, site.usual());
        }
        let place = self.0.partition_point(|other| other.code < module.code);
        self.0.insert(place, module);
    }

    /// The module that a site is in, and its place there.
    fn place(&self, site: Site) -> Option<(usize, usize)> {
        let module = self.0.partition_point(|module| module.code <= site).checked_sub(1)?;
        let offset = ((site - self.0[module].code) / size_of::<Word>()) as u32;
        let place = self.0[module].sites.binary_search_by_key(&offset, |site| site.new.offset).ok()?;
        Some((module, place))
    }

    fn find(&self, site: Site) -> Option<&OneSite> {
        self.place(site).map(|(module, place)| &self.0[module].sites[place])
    }
}

impl Sites for Part {
    fn sample(&self, all: bool) {
        for module in self.modules.lock().0.iter_mut() {
            let mut sites = std::mem::take(&mut module.sites);
            for site in sites.iter_mut().filter(|site| all || !site.in_area) {
                site.left = SAMPLES;
                module.write(site, sampled);
            }
            module.sites = sites;
        }
    }

    fn build_in_area(&self, site: Site, in_area: bool) {
        {
            let mut modules = self.modules.lock();
            let Some((module, place)) = modules.place(site) else { return };
            let (original, index) = (modules.0[module].original, modules.0[module].sites[place].new.index);
            for module in modules.0.iter_mut().filter(|module| module.original == original) {
                let mut sites = std::mem::take(&mut module.sites);
                for site in sites.iter_mut().filter(|site| site.new.index == index) {
                    site.in_area = in_area;
                    site.left = 0;
                    module.write(site, site.usual());
                }
                module.sites = sites;
            }
        }
        if let Some(engine) = second_engine() {
            engine.site_changed(site as *const Word);
        }
    }

    fn is_in_area(&self, site: Site) -> bool {
        self.modules.lock().find(site).is_some_and(|site| site.in_area)
    }

    fn never_leaves(&self, site: Site) -> bool {
        self.modules.lock().find(site).is_some_and(|site| site.is_checked)
    }
}

/// Takes note of the object that a site is about to build, and says which handler builds it. Gives also whether it is a
/// cons, and the site, if this is to be told of.
fn note(place: Site) -> (Handler, bool, Option<Site>) {
    let mut modules = part().modules.lock();
    let (module, index) = modules.place(place).expect("only sites are sampled");
    let mut sites = std::mem::take(&mut modules.0[module].sites);
    let site = &mut sites[index];
    let is_told = site.left > 0 || site.is_checked;
    site.left = site.left.saturating_sub(1);
    if site.left == 0 {
        modules.0[module].write(site, site.usual());
    }
    let NewSite { private, is_cons, index, .. } = site.new;
    modules.0[module].sites = sites;
    let original = modules.of(modules.0[module].original);
    let of_original = || original.and_then(|module| Some(module.address(module.at(index)?))).unwrap_or(place);
    (private, is_cons, is_told.then(of_original))
}

/// Tells of the object that is built now, and which handler builds it.
#[cold]
#[inline(never)]
unsafe fn tell(ip: *const Word, hp: *mut Word, c: *mut Core) -> Handler {
    let (private, is_cons, site) = note(ip as Site);
    if let (Some(site), Some(sites)) = (site, allocation_sites()) {
        // SAFETY: the object was asked room for at the heap's top, and the handler that goes on fills it before
        // anything reads it; a process runs on this core.
        unsafe {
            let object = if is_cons { Term::cons_at(hp) } else { Term::boxed_at(hp) };
            sites.built((*c).mutator, object, site);
        }
    }
    private
}

/// Stands in the place of a site's own handler while it is sampled. What the site builds comes to lie at the heap top.
unsafe fn sampled(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: as for the handler that it stands for.
    unsafe { tell(ip, hp, c)(ip, hp, e, reds, c) }
}
