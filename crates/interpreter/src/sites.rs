//! The allocation sites of all translated code: three handlers for each, of which one stands in the code.
//!
//! * `private` builds on the process's heap, and knows nothing of sites;
//! * `area` builds in the message area if the parts allow it;
//! * [`sampled`] builds on the process's heap and tells the architecture of it, a few times; then it puts back what
//!   stood there.

use std::sync::atomic::{AtomicU64, Ordering};

use atoll_analysis::{Verdict, analyse, analyse_messages};
use atoll_heap::{BuildInArea, Site, SiteChanges, Sites, allocation_sites, settings};
use atoll_loader::Module;
use atoll_term::{Term, Word};
use parking_lot::Mutex;

use atoll_runtime::core::{Core, Exit, Handler};

/// Objects of which a site tells when it is sampled.
const SAMPLES: u8 = 4;
/// Time slices for which native code asks at each site whether it is sampled.
const ASKING: u32 = 256;

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
    sites: Vec<OneSite>,
    advice: Advice,
}

impl ModuleSites {
    fn write(&self, site: &OneSite, handler: Handler) {
        let address = (self.code + site.new.offset as usize * size_of::<Word>()) as *const AtomicU64;
        // SAFETY: the word of an instruction in code that is not freed before it was forgotten here; engines read it
        // whole.
        unsafe { &*address }.store(atoll_runtime::core::handler(handler), Ordering::Relaxed);
    }
}

impl OneSite {
    fn is_changed(&self) -> bool {
        self.in_area || self.is_checked
    }

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
    /// In the order of their addresses.
    modules: Mutex<Vec<ModuleSites>>,
    changes: SiteChanges,
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

    /// What was said of the sites of the module whose code stands at `code`.
    pub fn of_module(code: usize) -> Advice {
        let modules = part().modules.lock();
        let found = modules.binary_search_by_key(&code, |module| module.code).ok();
        found.map(|place| Advice(modules[place].advice.0.clone())).unwrap_or_default()
    }

    fn at(&self, index: u32) -> Verdicts {
        self.0.binary_search_by_key(&index, |(index, _)| *index).map(|place| self.0[place].1).unwrap_or_default()
    }
}

/// Adds the sites of code that stands at `code`, in the order of their offsets, and has them build where they should.
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
    let module = ModuleSites { code, sites: sites.collect(), advice };
    for site in module.sites.iter().filter(|site| site.is_changed()) {
        module.write(site, site.usual());
    }
    let is_changed = module.sites.iter().any(OneSite::is_changed);
    let mut modules = part().modules.lock();
    let place = modules.partition_point(|module| module.code < code);
    modules.insert(place, module);
    if is_changed {
        part().changes.set_always(true);
    }
}

/// Forgets the sites of a module's code, which is about to be freed. A later report about such a site has no effect, or
/// concerns the code that has been loaded at the same address.
pub fn forget(code: usize) {
    let mut modules = part().modules.lock();
    let place = modules.partition_point(|module| module.code < code);
    if modules.get(place).is_some_and(|module| module.code == code) {
        let gone = modules.remove(place);
        if gone.sites.iter().any(OneSite::is_changed) {
            part().note_changes(&modules);
        }
    }
}

/// Calls `use_it` with a site.
fn with<R>(site: Site, use_it: impl FnOnce(&ModuleSites, &mut OneSite) -> R) -> Option<R> {
    let mut modules = part().modules.lock();
    let module = modules.partition_point(|module| module.code <= site).checked_sub(1)?;
    let module = &mut modules[module];
    let offset = ((site - module.code) / size_of::<Word>()) as u32;
    let index = module.sites.binary_search_by_key(&offset, |site| site.new.offset).ok()?;
    let mut sites = std::mem::take(&mut module.sites);
    let result = use_it(module, &mut sites[index]);
    module.sites = sites;
    Some(result)
}

impl Part {
    fn note_changes(&self, modules: &[ModuleSites]) {
        self.changes.set_always(modules.iter().any(|module| module.sites.iter().any(OneSite::is_changed)));
    }
}

impl Sites for Part {
    fn changes(&self) -> &SiteChanges {
        &self.changes
    }

    fn sample(&self, all: bool) {
        self.changes.ask_for(ASKING);
        for module in self.modules.lock().iter_mut() {
            let mut sites = std::mem::take(&mut module.sites);
            for site in sites.iter_mut().filter(|site| all || !site.in_area) {
                site.left = SAMPLES;
                module.write(site, sampled);
            }
            module.sites = sites;
        }
    }

    fn build_in_area(&self, site: Site, in_area: bool) {
        with(site, |module, site| {
            site.in_area = in_area;
            site.left = 0;
            module.write(site, site.usual());
        });
        self.note_changes(&self.modules.lock());
    }

    fn is_in_area(&self, site: Site) -> bool {
        with(site, |_, site| site.in_area).unwrap_or(false)
    }

    fn never_leaves(&self, site: Site) -> bool {
        with(site, |_, site| site.is_checked).unwrap_or(false)
    }
}

/// Tells of the object that is built now, and which handler builds it.
#[cold]
#[inline(never)]
unsafe fn tell(ip: *const Word, hp: *mut Word, c: *mut Core) -> Handler {
    let (private, is_cons, told) = with(ip as Site, |module, site| {
        let told = site.left > 0 || site.is_checked;
        site.left = site.left.saturating_sub(1);
        if site.left == 0 {
            module.write(site, site.usual());
        }
        (site.new.private, site.new.is_cons, told)
    })
    .expect("only sites are sampled");
    if told {
        // SAFETY: the object was asked room for at the heap's top, and the handler that goes on fills it before
        // anything reads it.
        let object = unsafe { if is_cons { Term::cons_at(hp) } else { Term::boxed_at(hp) } };
        if let Some(sites) = allocation_sites() {
            // SAFETY: a process runs on this core.
            sites.built(unsafe { (*c).mutator }, object, ip as Site);
        }
    }
    private
}

/// Stands in the place of a site's own handler while it is sampled. What the site builds comes to lie at the heap top.
unsafe fn sampled(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: as for the handler that it stands for.
    unsafe { tell(ip, hp, c)(ip, hp, e, reds, c) }
}
