//! How a value over slots is brought to the dimensions of its user.

use ngc_dialects::ng::constant::tensor_to_attr;
use ngc_ir::structure::{Axis, Index, Size, Whole};
use ngc_ir::{Attr, AttrDict, Type, Value};
use ngc_numerics::{DType, Tensor};

use super::Writer;
use super::laid::{Frame, Layout, Scaled, pattern};
use super::number::{extent, places_in};
use crate::normal::Cut;
use crate::term::{Map, Node, Use, at};

/// How a slot is read.
enum Read {
    /// Along one dimension, every element.
    Along(usize),
    /// By equal steps along a dimension, or at one place.
    Steps { start: i64, step: i64, count: i64, along: Option<usize> },
    /// As the number that the places along several dimensions make.
    Split(Vec<usize>),
    /// As a digit of the place along a dimension, of which other slots are the other digits.
    Digit(usize),
    /// At places that a table gives.
    Table,
}

impl Writer<'_, '_> {
    /// A value over slots of these extents, read at places along the dimensions of a frame.
    pub(super) fn read(
        &mut self,
        term: Scaled,
        sizes: &[Size],
        map: &Map,
        frame: &Frame,
    ) -> Result<Scaled, String> {
        let slots: Vec<usize> = term.of.dims.iter().flatten().copied().collect();
        let plain = |slot: &usize| {
            map[*slot].as_axis().map(|Axis(d)| d as usize).filter(|&d| frame.sizes[d] == sizes[*slot])
        };
        let places: Option<Vec<usize>> = slots.iter().map(plain).collect();
        if places.is_some_and(|p| p.iter().enumerate().all(|(n, d)| !p[..n].contains(d))) {
            let mut read = term;
            read.of.dims.iter_mut().for_each(|d| *d = d.and_then(|slot| plain(&slot)));
            return Ok(read);
        }
        let Scaled { factor, of } = term;
        let order = frame.inside(map, sizes).order;
        let (value, dims) = self.settled(&Scaled { factor: 1.into(), of }, &order)?;
        let moved = self.moved(value, dims, sizes, map, frame)?;
        Ok(Scaled::value(moved).times(&factor))
    }

    fn moved(
        &mut self,
        value: Value,
        dims: Layout,
        sizes: &[Size],
        map: &Map,
        frame: &Frame,
    ) -> Result<(Value, Layout), String> {
        let empty = |slot: &usize| sizes[*slot].number() == Some(0);
        if dims.iter().flatten().any(empty) {
            // Nothing is read of nothing: a test leads elsewhere, or there is no place.
            let elem = self.builder.ty(value).elem().ok_or("a value without elements")?;
            let zero = self.rational(&0.into())?;
            return Ok((self.converted(zero, elem)?, Layout::new()));
        }
        let reads: Vec<Option<Read>> = (0..map.len())
            .map(|slot| dims.contains(&Some(slot)).then(|| how(slot, sizes, map, frame)))
            .collect();
        let mut seen: Vec<usize> = Vec::new();
        let mut twice = false;
        for (slot, read) in reads.iter().enumerate() {
            let mut own: Vec<usize> = match read {
                Some(Read::Digit(_)) | None => continue,
                _ => (0..frame.sizes.len()).filter(|&d| map[slot].mentions(Axis(d as u32))).collect(),
            };
            twice |= own.iter().any(|d| seen.contains(d));
            seen.append(&mut own);
        }
        if twice {
            return self.gathered(value, &dims, sizes, map, frame);
        }
        let (mut value, mut slots) = (value, dims);
        let mut names: Layout = Layout::new();
        let mut joined: Vec<usize> = Vec::new();
        for (slot, read) in reads.iter().enumerate() {
            if let Some(Read::Digit(d)) = read
                && !joined.contains(d)
            {
                joined.push(*d);
                (value, slots) = self.joined_slots(value, &slots, slot, *d, &reads, map, frame)?;
            }
        }
        let mut axis = 0;
        for slot in slots.iter().copied() {
            let Some(slot) = slot else {
                names.push(None);
                axis += 1;
                continue;
            };
            match reads[slot].as_ref().ok_or("a slot that is not read")? {
                Read::Along(d) | Read::Digit(d) => names.push(Some(*d)),
                Read::Steps { start, step, count, along } => {
                    value = self.sliced(value, axis, *start, *step, *count)?;
                    names.push(*along);
                }
                Read::Split(into) => {
                    value = self.split(value, axis, into, frame)?;
                    names.extend(into.iter().map(|&d| Some(d)));
                    axis += into.len() - 1;
                }
                Read::Table => {
                    let own = (0..frame.sizes.len()).filter(|&d| map[slot].mentions(Axis(d as u32)));
                    let places = Frame { sizes: frame.sizes.clone(), order: own.map(Some).collect() };
                    let last = extent(&sizes[slot])? - 1;
                    // Behind a test, places where nothing is read may lie outside.
                    let inside = |at: &[i64]| map[slot].value(at, &|_| None).map(|n| n.clamp(0, last));
                    let (numbers, shape, own) = places_in(last as usize + 1, &places, &[&map[slot]], inside)?;
                    value = self.picked(value, axis, numbers, shape)?;
                    axis += own.len();
                    names.extend(own);
                    continue;
                }
            }
            axis += 1;
        }
        Ok((value, names))
    }

    fn sliced(
        &mut self,
        value: Value,
        axis: usize,
        start: i64,
        step: i64,
        count: i64,
    ) -> Result<Value, String> {
        let stop = match start + step * (count - 1) + step.signum() {
            -1 => i64::MIN,
            stop => stop,
        };
        let one = |n: i64| Attr::ints([n]);
        let mut attrs =
            AttrDict::from([("axes", one(axis as i64)), ("starts", one(start)), ("stops", one(stop))]);
        if step != 1 {
            attrs.set("steps", one(step));
        }
        self.with("ng.slice", &[value], attrs)
    }

    /// An axis as several.
    fn split(&mut self, value: Value, axis: usize, into: &[usize], frame: &Frame) -> Result<Value, String> {
        let own = |d: &usize| frame.sizes[*d].number().map(|n| n as i64);
        let between: Vec<Option<i64>> = into.iter().map(own).collect();
        self.reshaped(value, axis, 1, &between)
    }

    /// Slots that are the digits of one number as one axis, where the first of them lies.
    #[allow(clippy::too_many_arguments, reason = "the places of a value and what is read there")]
    fn joined_slots(
        &mut self,
        value: Value,
        slots: &Layout,
        first: usize,
        of: usize,
        reads: &[Option<Read>],
        map: &Map,
        frame: &Frame,
    ) -> Result<(Value, Layout), String> {
        let mut group: Vec<usize> =
            (0..reads.len()).filter(|&n| matches!(reads[n], Some(Read::Digit(d)) if d == of)).collect();
        // The highest digit first.
        group.sort_by_key(|&n| map[n].digits().next().map(|digit| std::cmp::Reverse(digit.divisor.clone())));
        let lead = slots.iter().position(|s| s.is_some_and(|s| group.contains(&s))).unwrap_or(0);
        let others = |part: &[Option<usize>]| -> Layout {
            part.iter().copied().filter(|s| s.is_none_or(|s| !group.contains(&s))).collect()
        };
        let (before, after) = (others(&slots[..lead]), others(&slots[lead..]));
        let mut wanted = before.clone();
        wanted.extend(group.iter().map(|&n| Some(n)));
        wanted.extend(after.iter().copied());
        let (value, _) = self.arranged(value, slots, &wanted, 0)?;
        let size = frame.sizes[of].number().map(|n| n as i64);
        let value = self.reshaped(value, before.len(), group.len(), &[size])?;
        let mut slots = before;
        slots.push(Some(first));
        slots.extend(after);
        Ok((value, slots))
    }

    /// Some axes as others.
    fn reshaped(
        &mut self,
        value: Value,
        axis: usize,
        count: usize,
        into: &[Option<i64>],
    ) -> Result<Value, String> {
        let shape = self.builder.ty(value).shape().unwrap_or_default();
        let own = shape.iter().map(|d| d.known().map(|n| n as i64)).collect::<Vec<_>>();
        let all: Vec<Option<i64>> = [&own[..axis], into, &own[axis + count..]].concat();
        if all.iter().filter(|n| n.is_none()).count() > 1 {
            return Err("more than one extent of a reshape is unknown".into());
        }
        let shape = Attr::ints(all.into_iter().map(|n| n.unwrap_or(-1)));
        self.with("ng.reshape", &[value], [("shape", shape)])
    }

    fn picked(
        &mut self,
        value: Value,
        axis: usize,
        numbers: Vec<i64>,
        shape: Vec<usize>,
    ) -> Result<Value, String> {
        let numbers = Tensor::ints(DType::Int(64), shape, numbers)?;
        let numbers = self.literal(tensor_to_attr(&numbers))?;
        let axis = Attr::Int(axis as i64, Type::scalar(DType::Int(64)));
        self.with("ng.gather", &[value, numbers], [("axis", axis)])
    }

    /// Elements by their constant numbers.
    fn gathered(
        &mut self,
        value: Value,
        dims: &Layout,
        sizes: &[Size],
        map: &Map,
        frame: &Frame,
    ) -> Result<(Value, Layout), String> {
        let slots: Layout = dims.iter().copied().filter(Option::is_some).collect();
        let (value, slots) = self.arranged(value, dims, &slots, 0)?;
        let slots: Vec<usize> = slots.iter().flatten().copied().collect();
        let shape = slots.iter().map(|&slot| extent(&sizes[slot])).collect::<Result<Vec<i64>, _>>()?;
        let flat = |at: &[i64]| {
            slots.iter().zip(&shape).try_fold(0i64, |flat, (&slot, n)| {
                Some(flat * n + map[slot].value(at, &|_| None)?.clamp(0, n - 1))
            })
        };
        let speaks: Vec<&Index> = slots.iter().map(|&slot| &map[slot]).collect();
        let all = shape.iter().product::<i64>();
        let (numbers, places, names) = places_in(all as usize, frame, &speaks, flat)?;
        let row = [("shape", Attr::ints([all]))];
        let row = self.with("ng.reshape", &[value], row)?;
        Ok((self.picked(row, 0, numbers, places)?, names))
    }

    /// A choice by place of parts of which one has no element at some of the places, as these parts one behind the other.
    pub(super) fn in_pieces(&mut self, of: &Use, frame: &Frame) -> Result<Option<Scaled>, String> {
        // Along the dimensions that the places speak of alone.
        let (names, Frame { sizes: space, .. }) = frame.restricted(&of.map);
        let name = |axis: Axis| Axis(names.iter().position(|d| *d == axis.0 as usize).unwrap_or(0) as u32);
        let of = Use { id: of.id, map: of.map.iter().map(|index| index.renamed(&name)).collect() };
        let Some((tests, yes, no)) = self.store.parted(&of, &space) else { return Ok(None) };
        let cut = if let [test] = &tests[..] { Cut::of(test, &space) } else { None };
        let Some((cut, axis)) = cut.and_then(|cut| cut.digit.as_axis().map(|axis| (cut, axis))) else {
            return Ok(None);
        };
        let d = axis.0 as usize;
        let beyond = |(index, size): (&Index, &Size)| {
            let ends = index.range(&space).zip(size.number());
            ends.is_some_and(|((first, last), n)| first < 0 || last >= i128::from(n))
        };
        let is_cut = |part: &Use| part.map.iter().zip(self.store.sizes(part.id)).any(beyond);
        let along = |part: &Use| part.map.iter().any(|index| index.mentions(axis));
        let joins = along(&yes) && along(&no) && (is_cut(&yes) || is_cut(&no));
        if !joins || space.iter().any(|size| size.number().is_none()) {
            return Ok(None);
        }
        let mut parts = [(cut.yes, yes), (cut.no, no)];
        parts.sort_by_key(|((first, _), _)| *first);
        // What is read in part would be computed anew for every piece.
        let whole = |((first, last), part): &((i64, i64), Use)| {
            let reads = |(index, size): (&Index, &Size)| {
                let ends = index.range(&space).zip(index.as_affine());
                let moved = ends.is_some_and(|(_, (by, of))| by == -first && of[..] == [(axis, 1)]);
                !index.mentions(axis) || moved && size.number() == Some((last - first + 1) as u64)
            };
            matches!(self.store.node(part.id), Node::Where(..))
                || part.map.iter().zip(self.store.sizes(part.id)).all(reads)
        };
        if !parts.iter().all(whole) {
            return Ok(None);
        }
        let mut values = Vec::new();
        for ((first, last), part) in parts {
            let mut sizes = space.clone();
            sizes[d] = Size::known((last - first + 1) as u64);
            // Of one place there is no dimension.
            let moved = match first == last {
                true => Index::number(first),
                false => at(d).plus(&Index::number(first)).ok_or("a place is beyond all numbers")?,
            };
            let map = (0..sizes.len()).map(|n| if n == d { moved.clone() } else { at(n) }).collect();
            let part = self.store.compose(&part, &map, &sizes).ok_or("a place is no place of a part")?;
            let own = Frame::plain(&sizes);
            let term = self.term(&part, &own)?;
            let (value, dims) = self.settled(&term, &own.order)?;
            values.push(self.filled(value, &dims, &sizes)?);
        }
        let joined = self.with("ng.concat", &values, [("axis", Attr::int(d as i64))])?;
        let dims = Frame::plain(&space).order.iter().map(|d| d.map(|d| names[d])).collect();
        Ok(Some(Scaled::value((joined, dims))))
    }

    /// A value with every dimension as long as it is, in order.
    pub(super) fn filled(&mut self, value: Value, dims: &Layout, extents: &[Size]) -> Result<Value, String> {
        let order = Frame::plain(extents).order;
        let missing = |n: &usize| order[*n].is_some() && !dims.contains(&Some(*n));
        if !(0..order.len()).any(|n| missing(&n)) {
            if self.builder.ty(value).as_tensor().is_none() && !extents.is_empty() {
                let ones = Attr::ints(extents.iter().map(|_| 1));
                return self.with("ng.broadcast_to", &[value], [("shape", ones)]);
            }
            return Ok(self.arranged(value, dims, &order, 0)?.0);
        }
        let own = pattern(dims, &order);
        let (value, _) = self.arranged(value, dims, &own, 0)?;
        let lead = order.len() - own.len();
        let target = (0..order.len()).map(|n| match n >= lead && !missing(&n) {
            true => Ok(-1),
            false => extent(&extents[n]),
        });
        let target: Vec<i64> =
            target.collect::<Result<_, _>>().map_err(|_| "a value is repeated along an unknown extent")?;
        self.with("ng.broadcast_to", &[value], [("shape", Attr::ints(target))])
    }

    /// A value with some dimensions as long as they are.
    pub(super) fn stretched(
        &mut self,
        (value, dims): (Value, Layout),
        sizes: &[Size],
        along: std::ops::Range<usize>,
    ) -> Result<(Value, Layout), String> {
        let missing: Vec<usize> = along.filter(|d| !dims.contains(&Some(*d))).collect();
        if missing.is_empty() {
            return Ok((value, dims));
        }
        let lead = missing.iter().map(|&d| extent(&sizes[d])).collect::<Result<Vec<_>, _>>()?;
        let shape = Attr::ints(lead.into_iter().chain(dims.iter().map(|_| -1)));
        let dims = missing.into_iter().map(Some).chain(dims).collect();
        Ok((self.with("ng.broadcast_to", &[value], [("shape", shape)])?, dims))
    }
}

fn how(slot: usize, sizes: &[Size], map: &Map, frame: &Frame) -> Read {
    let index = &map[slot];
    if let Some(Axis(d)) = index.as_axis()
        && frame.sizes[d as usize] == sizes[slot]
    {
        return Read::Along(d as usize);
    }
    steps(index, &sizes[slot], frame)
        .or_else(|| split(index, &sizes[slot], frame))
        .or_else(|| digits(slot, sizes, map, frame))
        .unwrap_or(Read::Table)
}

fn steps(index: &Index, size: &Size, frame: &Frame) -> Option<Read> {
    let n = i64::try_from(size.number()?).ok()?;
    let (rest, number) = index.partition(|part| part.as_number().is_none());
    let start = number.as_number().filter(|start| (0..n).contains(start))?;
    let (step, count, along) = match rest.summands().collect::<Vec<_>>()[..] {
        [] => (1, 1, None),
        [(step, ref size, Some(ref digit))] if size.is_one() => {
            let Axis(d) = digit.as_axis()?;
            (step, extent(&frame.sizes[d as usize]).ok()?, Some(d as usize))
        }
        _ => return None,
    };
    let last = start.checked_add(step.checked_mul(count - 1)?)?;
    // Behind a test, places where nothing is read may lie outside.
    (count > 0 && (0..n).contains(&last)).then_some(Read::Steps { start, step, count, along })
}

fn split(index: &Index, size: &Size, frame: &Frame) -> Option<Read> {
    let mut parts: Vec<(Size, usize)> = Vec::new();
    for (factor, unknown, digit) in index.summands() {
        let Axis(d) = digit?.as_axis()?;
        parts.push((Size::known(u64::try_from(factor).ok()?).times(&unknown)?, d as usize));
    }
    // From the lowest digit up, each weighs as much as all below it have values.
    let mut reach = Size::ONE;
    let mut order = Vec::new();
    while !parts.is_empty() {
        let next = parts.iter().position(|(weight, _)| *weight == reach)?;
        let (weight, d) = parts.remove(next);
        reach = weight.times(&frame.sizes[d])?;
        order.push(d);
    }
    order.reverse();
    (reach == *size).then_some(Read::Split(order))
}

fn digits(slot: usize, sizes: &[Size], map: &Map, frame: &Frame) -> Option<Read> {
    let digit = |slot: usize| {
        let mut all = map[slot].summands();
        let (1, size, Some(_)) = all.next()? else { return None };
        (size.is_one() && all.next().is_none()).then_some(())?;
        let digit = map[slot].digits().next()?;
        let Whole::Axis(Axis(d)) = digit.of else { return None };
        Some((d as usize, digit.divisor.clone()))
    };
    let (of, _) = digit(slot)?;
    let mut parts: Vec<(Size, Size)> = Vec::new();
    for (other, size) in sizes.iter().enumerate().take(map.len()) {
        match digit(other) {
            Some((d, divisor)) if d == of => parts.push((divisor, size.clone())),
            _ if map[other].mentions(Axis(of as u32)) => return None,
            _ => {}
        }
    }
    let mut reach = Size::ONE;
    while !parts.is_empty() {
        let next = parts.iter().position(|(divisor, _)| *divisor == reach)?;
        let (divisor, size) = parts.remove(next);
        reach = divisor.times(&size)?;
    }
    (reach == frame.sizes[of]).then_some(Read::Digit(of))
}
