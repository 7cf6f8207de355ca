//! Chains of formats, each of which holds all numbers of the one before.

use ngc_sheaf::Level;

use crate::precision::storage::Storage;

/// Formats from the cheapest to the widest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain(Vec<Storage>);

impl Chain {
    /// The chains that can be made of formats whose names stand between bars, as in `f16|bf16|f32`: of formats of which neither
    /// holds the other one, there is a chain with each.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the text.
    pub fn parse(text: &str) -> Result<Vec<Chain>, String> {
        let mut formats = Vec::new();
        for name in text.split('|').map(str::trim) {
            let format = Storage::from_name(name).ok_or_else(|| {
                format!(
                    "'{name}' is no format that values are stored in: write formats as in f16|f32, out of {}",
                    NAMES
                )
            })?;
            if formats.contains(&format) {
                return Err(format!("format {name} is named twice"));
            }
            formats.push(format);
        }
        formats.sort_by_key(|f| (f.width(), f.precision()));
        let mut chains = vec![Vec::new()];
        for &format in &formats {
            let mut next: Vec<Vec<Storage>> = Vec::new();
            for chain in chains {
                let fits: Vec<Storage> = chain.iter().copied().filter(|own| format.holds(*own)).collect();
                if fits.len() == chain.len() {
                    next.push([fits, vec![format]].concat());
                } else {
                    next.push(chain);
                    next.push([fits, vec![format]].concat());
                }
            }
            chains = next;
        }
        chains.sort();
        chains.dedup();
        let within = |a: &Vec<Storage>, b: &Vec<Storage>| a != b && a.iter().all(|f| b.contains(f));
        let longest: Vec<Vec<Storage>> =
            chains.iter().filter(|a| !chains.iter().any(|b| within(a, b))).cloned().collect();
        Ok(longest.into_iter().map(Chain).collect())
    }

    /// Of these formats, of which each holds the ones before, some of them named twice perhaps.
    pub fn of(formats: impl IntoIterator<Item = Storage>) -> Chain {
        let mut formats: Vec<Storage> = formats.into_iter().collect();
        formats.dedup();
        Chain(formats)
    }

    /// How many formats there are.
    pub fn len(&self) -> Level {
        self.0.len() as Level
    }

    /// A chain has a format.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of its formats is of two words.
    pub fn has_double(&self) -> bool {
        self.0.iter().any(|format| format.is_double())
    }

    /// The format of a level.
    pub fn format(&self, level: Level) -> Storage {
        self.0[usize::from(level)]
    }

    /// The level of a format.
    pub fn level(&self, format: Storage) -> Option<Level> {
        self.0.iter().position(|own| *own == format).map(|n| n as Level)
    }

    /// All formats with their levels.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Level, Storage)> + '_ {
        self.0.iter().enumerate().map(|(n, format)| (n as Level, *format))
    }
}

impl std::fmt::Display for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&names.join("|"))
    }
}

/// The names of formats that values are stored in.
const NAMES: &str = "f8E4M3FN, f8E5M2, f16, bf16, f32, f32x2, f64 and f64x2";
