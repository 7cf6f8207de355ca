//! Locations. In a module each distinct one gets an alias `#loc`, `#loc1`, ..., defined at its head.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::op::Printer;
use crate::location::{Loc, LocKind};

/// The locations that a module uses.
#[derive(Default)]
pub(super) struct LocAliases {
    /// By text, other locations in it by their index.
    by_text: FxHashMap<String, usize>,
    /// Those met before, by address or by file and offset.
    by_identity: FxHashMap<(usize, u32), usize>,
    /// Each with its nesting.
    list: Vec<(Loc, usize)>,
    /// Numbers in the order of the definitions, once it is known.
    numbers: Vec<usize>,
    inline: bool,
}

impl LocAliases {
    /// No aliases: locations are written where they stand.
    pub fn inline() -> LocAliases {
        LocAliases { inline: true, ..LocAliases::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Orders the definitions as upstream does: by nesting, then by first use.
    pub fn sort(&mut self) {
        let mut numbers = vec![0; self.list.len()];
        for (number, &i) in self.order().iter().enumerate() {
            numbers[i] = number;
        }
        self.numbers = numbers;
    }

    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.list.len()).collect();
        order.sort_by_key(|&i| self.list[i].1);
        order
    }
}

impl Printer<'_> {
    /// ` loc(...)` behind an op or argument, if locations are printed.
    pub fn trailing_loc(&mut self, loc: &Loc) {
        if !self.options.debuginfo {
            return;
        }
        self.out.push(' ');
        if self.aliases.inline {
            self.loc_attribute(loc);
        } else {
            let index = self.alias(loc);
            self.out.push_str("loc(");
            self.alias_name(index);
            self.out.push(')');
        }
    }

    /// A location as an attribute.
    pub fn loc_attribute(&mut self, loc: &Loc) {
        if self.aliases.inline {
            let text = self.loc_text(loc, &mut |p, loc| p.loc_text_inline(loc));
            let _ = write!(self.out, "loc({text})");
        } else {
            let index = self.alias(loc);
            self.alias_name(index);
        }
    }

    /// The definitions of all aliases.
    pub fn aliases_header(&mut self) {
        for index in self.aliases.order() {
            let loc = self.aliases.list[index].0.clone();
            self.alias_name(index);
            let text = self.loc_text(&loc, &mut |p, loc| {
                let index = p.alias(loc);
                p.alias_text(index)
            });
            let _ = writeln!(self.out, " = loc({text})");
        }
    }

    fn alias_text(&self, index: usize) -> String {
        match self.aliases.numbers.get(index) {
            Some(0) | None => "#loc".into(),
            Some(number) => format!("#loc{number}"),
        }
    }

    fn alias_name(&mut self, index: usize) {
        let text = self.alias_text(index);
        self.out.push_str(&text);
    }

    /// The index of a location, which is entered with all in it if it is new.
    fn alias(&mut self, loc: &Loc) -> usize {
        let identity = match loc {
            Loc::Unknown => (0, 0),
            Loc::Source { file, offset } => (1 + *file as usize, *offset),
            Loc::Explicit(kind) => (std::sync::Arc::as_ptr(kind) as usize, u32::MAX),
        };
        if let Some(&known) = self.aliases.by_identity.get(&identity) {
            return known;
        }
        let mut nesting = 0;
        let text = self.loc_text(loc, &mut |p, inner| {
            let index = p.alias(inner);
            nesting = nesting.max(p.aliases.list[index].1 + 1);
            format!("#{index}")
        });
        let next = self.aliases.list.len();
        let index = *self.aliases.by_text.entry(text).or_insert(next);
        if index == next {
            self.aliases.list.push((loc.clone(), nesting));
        }
        self.aliases.by_identity.insert(identity, index);
        index
    }

    fn loc_text_inline(&mut self, loc: &Loc) -> String {
        self.loc_text(loc, &mut |p, inner| p.loc_text_inline(inner))
    }

    /// What stands inside `loc( )`, inner locations spelt by `nested`.
    fn loc_text(&mut self, loc: &Loc, nested: &mut dyn FnMut(&mut Self, &Loc) -> String) -> String {
        let mut text = String::new();
        let kind = match loc {
            Loc::Unknown => return "unknown".into(),
            Loc::Source { .. } => match self.options.sources.and_then(|sources| sources.resolve(loc)) {
                Some((file, at)) => {
                    super::attr::quote(&mut text, &file);
                    let _ = write!(text, ":{}:{}", at.line, at.column);
                    return text;
                }
                None => return "unknown".into(),
            },
            Loc::Explicit(kind) => kind.clone(),
        };
        match &*kind {
            LocKind::FileLineCol { file, line, column, end } => {
                super::attr::quote(&mut text, file.as_str());
                let _ = write!(text, ":{line}:{column}");
                match end {
                    Some((end_line, end_column)) if end_line == line => {
                        let _ = write!(text, " to :{end_column}");
                    }
                    Some((end_line, end_column)) => {
                        let _ = write!(text, " to {end_line}:{end_column}");
                    }
                    None => {}
                }
            }
            LocKind::Name(name, child) => {
                super::attr::quote(&mut text, name);
                if *child != Loc::Unknown {
                    let _ = write!(text, "({})", nested(self, child));
                }
            }
            LocKind::CallSite(callee, caller) => {
                let callee = nested(self, callee);
                let _ = write!(text, "callsite({callee} at {})", nested(self, caller));
            }
            LocKind::Fused(metadata, parts) => {
                text.push_str("fused");
                if let Some(metadata) = metadata {
                    let _ = write!(text, "<{}>", super::print_attribute(metadata));
                }
                let parts: Vec<String> = parts.iter().map(|part| nested(self, part)).collect();
                let _ = write!(text, "[{}]", parts.join(", "));
            }
        }
        text
    }
}
