//! Interned names: op names, attribute names, symbol names.

use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, RwLock};

use rustc_hash::FxBuildHasher;

/// A name interned for the life of the process. Comparing and hashing look at the handle; ordering looks at
/// the text, so that sorted output never depends on the order in which threads interned names.
#[derive(Clone, Copy)]
pub struct Ident(&'static Entry);

struct Entry(Box<str>);

impl std::borrow::Borrow<str> for &'static Entry {
    fn borrow(&self) -> &str {
        &self.0
    }
}
impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.0 == other.0
    }
}
impl Eq for Entry {}
impl Hash for Entry {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

static TABLE: LazyLock<RwLock<HashSet<&'static Entry, FxBuildHasher>>> = LazyLock::new(RwLock::default);

impl Ident {
    /// Interns `text`.
    pub fn new(text: &str) -> Ident {
        if let Some(&entry) = TABLE.read().unwrap_or_else(|e| e.into_inner()).get(text) {
            return Ident(entry);
        }
        let mut table = TABLE.write().unwrap_or_else(|e| e.into_inner());
        if let Some(&entry) = table.get(text) {
            return Ident(entry);
        }
        let entry: &'static Entry = Box::leak(Box::new(Entry(text.into())));
        table.insert(entry);
        Ident(entry)
    }

    /// The text of the name.
    pub fn as_str(self) -> &'static str {
        &self.0.0
    }
}

impl From<&str> for Ident {
    fn from(text: &str) -> Ident {
        Ident::new(text)
    }
}

impl PartialEq for Ident {
    fn eq(&self, other: &Ident) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
impl Eq for Ident {}

impl PartialEq<str> for Ident {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl Hash for Ident {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0 as *const Entry as usize).hash(state);
    }
}

impl PartialOrd for Ident {
    fn partial_cmp(&self, other: &Ident) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ident {
    fn cmp(&self, other: &Ident) -> std::cmp::Ordering {
        if self == other { std::cmp::Ordering::Equal } else { self.as_str().cmp(other.as_str()) }
    }
}

impl fmt::Display for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
