//! Structures: negated, namespaced, annotated terms.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::drop::{Pile, free, take_parts};
use super::{Value, Var};
use crate::{Symbol, sym};

/// Most arguments of a structure that is called flat.
pub(super) const FLAT_ARGS: usize = 8;

/// Arguments of a structure; up to three are stored in place.
pub type Args = SmallVec<[Value; 3]>;

/// Annotations of a structure: a sorted set. One is stored in place.
pub type Annots = SmallVec<[Annot; 1]>;

/// One annotation. `source(atom)`, which nearly every belief and event has, takes no allocation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Annot {
    /// `source(name)`.
    Source(Symbol),
    /// Any other term.
    Term(Value),
    /// The open tail of an annotation pattern, `[a|R]`: always last.
    Tail(Var),
}

impl Annot {
    /// Returns the annotation that `value` says; `source(atom)` in its short form.
    pub fn new(value: Value) -> Self {
        match &value {
            Value::Term(term) if term.is_plain() && term.functor == sym::SOURCE => match term.args.as_slice() {
                [Value::Atom(name)] => Self::Source(*name),
                _ => Self::Term(value),
            },
            _ => Self::Term(value),
        }
    }

    /// Returns the annotation as a term.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Source(name) => Value::term(sym::SOURCE, [Value::Atom(*name)]),
            Self::Term(value) => value.clone(),
            Self::Tail(var) => Value::Var(*var),
        }
    }

    /// Returns true if the annotation contains no variable.
    pub fn is_ground(&self) -> bool {
        match self {
            Self::Source(_) => true,
            Self::Term(value) => value.is_ground(),
            Self::Tail(_) => false,
        }
    }

    /// Returns true if the part contains an integer or a null, which are no terms.
    fn has_foreign(&self) -> bool {
        matches!(self, Self::Term(value) if value.has_foreign())
    }

    /// Returns the levels of a structure that has this annotation.
    fn levels_around(&self) -> u32 {
        if let Self::Term(value) = self { value.levels() + 1 } else { 1 }
    }
}

/// Returns the place of an annotation among the sorted annotations of a structure, or where it would be.
fn place_of(annot: &Annot, annots: &[Annot]) -> Result<usize, usize> {
    match annots {
        [] => Err(0),
        [only] if only == annot => Ok(0),
        annots => annots.binary_search(annot),
    }
}

/// A structure `~ns::functor(args)[annots]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "StructureParts")]
pub struct Structure {
    /// The name.
    pub functor: Symbol,
    /// The namespace; [`sym::DEFAULT`] if none is written.
    pub namespace: Symbol,
    /// Strong negation, `~`.
    pub negated: bool,
    ground: bool,
    /// True if the structure contains an integer or a null, see [`super::TermConversion`]. It is in the padding of the
    /// fields around it.
    #[serde(skip)]
    foreign: bool,
    /// True if the arguments are few, and all flat ([`Value::is_flat`]). It is in the padding, too.
    #[serde(skip)]
    flat: bool,
    /// Levels to which the structure nests; stored in the padding of the fields around it.
    #[serde(skip)]
    levels: u32,
    /// The arguments.
    pub args: Args,
    /// The annotations, sorted, each once.
    pub annots: Annots,
}

/// Serialized form of a structure. Facts that follow from the arguments are not read but computed.
#[derive(Deserialize)]
struct StructureParts {
    functor: Symbol,
    namespace: Symbol,
    negated: bool,
    #[serde(rename = "ground")]
    _ground: bool,
    args: Args,
    annots: Annots,
}

impl From<StructureParts> for Structure {
    fn from(parts: StructureParts) -> Self {
        Self::full(parts.namespace, parts.negated, parts.functor, parts.args, parts.annots)
    }
}

/// Facts about a structure's parts that are computed once.
#[derive(Clone, Copy)]
struct ArgumentShape {
    /// True if the parts contain no variable.
    ground: bool,
    /// True if the parts contain an integer or a null, which are no terms.
    foreign: bool,
    /// True if the arguments are few, and all flat.
    flat: bool,
    /// Levels of a structure that has these parts.
    levels: u32,
}

/// Computes the shape of arguments.
#[inline]
fn shape(args: &[Value]) -> ArgumentShape {
    if args.iter().all(Value::is_flat) {
        ArgumentShape { ground: true, foreign: false, flat: args.len() <= FLAT_ARGS, levels: 1 }
    } else {
        shape_of_nested(args)
    }
}

/// Computes the shape of arguments of which one is not flat.
#[inline(never)]
fn shape_of_nested(args: &[Value]) -> ArgumentShape {
    ArgumentShape {
        ground: args.iter().all(Value::is_ground),
        foreign: args.iter().any(Value::has_foreign),
        flat: false,
        levels: args.iter().map(Value::levels).max().unwrap_or(0) + 1,
    }
}

/// Computes the shape of arguments and annotations.
#[inline(never)]
fn shape_of_both(args: &[Value], annots: &[Annot]) -> ArgumentShape {
    let ArgumentShape { ground, foreign, flat, levels } = shape(args);
    ArgumentShape {
        flat,
        ground: ground && annots.iter().all(Annot::is_ground),
        foreign: foreign || annots.iter().any(Annot::has_foreign),
        levels: levels.max(annots.iter().map(Annot::levels_around).max().unwrap_or(1)),
    }
}

impl Structure {
    /// `functor(args)`, not negated, in the default namespace, without annotations.
    pub fn new(functor: Symbol, args: Args) -> Self {
        Self::bare(sym::DEFAULT, false, functor, args)
    }

    /// Creates a structure without annotations.
    #[inline]
    pub fn bare(namespace: Symbol, negated: bool, functor: Symbol, args: Args) -> Self {
        let ArgumentShape { ground, foreign, flat, levels } = shape(&args);
        Self { functor, namespace, negated, ground, foreign, flat, levels, args, annots: Annots::new() }
    }

    /// Creates a structure of all parts; annotations are sorted and duplicates removed.
    pub fn full(namespace: Symbol, negated: bool, functor: Symbol, args: Args, mut annots: Annots) -> Self {
        normalize(&mut annots);
        let ArgumentShape { ground, foreign, flat, levels } = shape_of_both(&args, &annots);
        Self { functor, namespace, negated, ground, foreign, flat, levels, args, annots }
    }

    /// Turns this into another structure without annotations, in the same memory. The arguments are taken out of
    /// `args`; its content is undefined afterwards.
    #[inline]
    pub fn refill(&mut self, namespace: Symbol, negated: bool, functor: Symbol, args: &mut [Value]) {
        self.annots.clear();
        if self.args.len() == args.len() {
            self.args.iter_mut().zip(args).for_each(|(arg, other)| arg.exchange(other));
        } else {
            self.args.clear();
            self.args.extend(args.iter_mut().map(std::mem::take));
        }
        self.note(shape(&self.args));
        (self.namespace, self.negated, self.functor) = (namespace, negated, functor);
    }

    /// Returns the same structure with other annotations.
    #[must_use]
    pub fn with_annots(&self, annots: Annots) -> Self {
        Self::full(self.namespace, self.negated, self.functor, self.args.clone(), annots)
    }

    /// Replaces the annotations.
    pub fn set_annots(&mut self, mut annots: Annots) {
        normalize(&mut annots);
        self.annots = annots;
        self.look_again();
    }

    /// Returns true if this is one of the annotations.
    pub fn has_annot(&self, annot: &Annot) -> bool {
        place_of(annot, &self.annots).is_ok()
    }

    /// Adds annotations to the existing ones, in time proportional to the number of new ones.
    pub fn add_annots(&mut self, new: impl IntoIterator<Item = Annot>) {
        for annot in new {
            let Err(place) = place_of(&annot, &self.annots) else { continue };
            self.ground &= annot.is_ground();
            self.foreign |= annot.has_foreign();
            self.levels = self.levels.max(annot.levels_around());
            self.annots.insert(place, annot);
        }
    }

    /// Takes annotations away, in time that grows with their number.
    pub fn remove_annots(&mut self, gone: &[Annot]) {
        for annot in gone {
            let Ok(place) = place_of(annot, &self.annots) else { continue };
            self.annots.remove(place);
            let levels = annot.levels_around();
            let is_deepest = levels > 1 && !self.annots.iter().any(|other| other.levels_around() >= levels);
            if is_deepest || !annot.is_ground() || annot.has_foreign() {
                self.look_again();
            }
        }
    }

    /// Exchanges the arguments with as many others.
    #[inline]
    pub fn swap_args(&mut self, others: &mut [Value]) {
        self.args.iter_mut().zip(others).for_each(|(arg, other)| arg.exchange(other));
        self.look_again();
    }

    #[inline]
    fn look_again(&mut self) {
        self.note(match self.annots.as_slice() {
            [] | [Annot::Source(_)] => shape(&self.args),
            annots => shape_of_both(&self.args, annots),
        });
    }

    #[inline]
    fn note(&mut self, shape: ArgumentShape) {
        (self.ground, self.foreign, self.flat, self.levels) = (shape.ground, shape.foreign, shape.flat, shape.levels);
    }

    /// Returns true if there are no annotations, and few arguments, all flat: none nests, is a variable, an integer, a
    /// null or long. Known at a glance.
    #[inline(always)]
    pub fn is_flat(&self) -> bool {
        self.flat && self.annots.is_empty()
    }

    /// Returns true if the structure contains an integer or a null, which are no terms.
    #[inline]
    pub fn has_foreign(&self) -> bool {
        self.foreign
    }

    /// Returns the levels to which the structure nests; 1 if it contains only constants.
    #[inline]
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// Returns true if the structure contains no variable.
    pub fn is_ground(&self) -> bool {
        self.ground
    }

    /// Returns true if the structure is neither negated nor annotated, and is in the default namespace.
    pub fn is_plain(&self) -> bool {
        !self.negated && self.annots.is_empty() && self.namespace == sym::DEFAULT
    }

    /// Returns the value this is: an atom if it is plain and has no arguments.
    pub fn into_value(self) -> Value {
        if self.args.is_empty() && self.is_plain() { Value::atom(self.functor) } else { Value::Term(Arc::new(self)) }
    }
}

fn normalize(annots: &mut Annots) {
    if annots.len() > 1 {
        annots.sort();
        annots.dedup();
    }
}

impl Drop for Structure {
    fn drop(&mut self) {
        let mut pile = Pile::new();
        take_parts(self, &mut pile);
        free(pile);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_change_in_place() {
        let deep = Annot::new(Value::term("f", [Value::term("g", [Value::Num(1.0)])]));
        let open = Annot::Term(Value::Var(Var { slot: 0, name: "X".into() }));
        let foreign = Annot::Term(Value::Int(1));
        let flat = Annot::new(Value::atom("a"));
        let source = Annot::Source("bob".into());
        let all = [&source, &open, &deep, &flat, &foreign];
        let mut annotated = Structure::new("p".into(), Args::new());
        let whole = |annots: &[&Annot]| {
            Structure::new("p".into(), Args::new()).with_annots(annots.iter().map(|annot| (*annot).clone()).collect())
        };
        let same = |a: &Structure, b: &Structure| {
            a.annots == b.annots && (a.ground, a.foreign, a.levels) == (b.ground, b.foreign, b.levels)
        };
        for count in 0..all.len() {
            annotated.add_annots([all[count].clone(), source.clone()]);
            assert!(same(&annotated, &whole(&all[..=count])), "{annotated}");
        }
        for count in 0..all.len() {
            assert!(annotated.has_annot(all[count]));
            annotated.remove_annots(&[all[count].clone()]);
            assert!(same(&annotated, &whole(&all[count + 1..])) && !annotated.has_annot(all[count]), "{annotated}");
        }
    }
}
