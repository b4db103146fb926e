//! Things held by several holders: written once, and held by as many when they come back.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use super::super::reader::Labelled;
use super::super::tags;
use super::{Decode, Encode, Reader, Result, Writer};

macro_rules! shared {
    ($($pointer:ident)*) => {$(
        impl<T: Encode> Encode for $pointer<T> {
            fn encode(&self, w: &mut Writer<'_>) {
                if $pointer::strong_count(self) == 1 {
                    return w.nested(|w| (**self).encode(w));
                }
                match w.label($pointer::as_ptr(self) as usize) {
                    Some(label) => {
                        w.tag(tags::REFERENCE);
                        w.number(u64::from(label));
                    }
                    None => {
                        w.tag(tags::LABEL);
                        w.nested(|w| (**self).encode(w));
                    }
                }
            }

            /// Returns true for equal values without other holders. Shared ones never form a constant column, and stay
            /// shared.
            fn same(&self, other: &Self) -> bool {
                $pointer::strong_count(self) == 1 && $pointer::strong_count(other) == 1 && (**self).same(other)
            }

            fn encode_column(rows: &[&Self], w: &mut Writer<'_>) {
                if rows.iter().all(|row| $pointer::strong_count(row) == 1) {
                    w.nested(|w| T::encode_column(&rows.iter().map(|row| &***row).collect::<Vec<_>>(), w));
                } else {
                    super::any(rows, w);
                }
            }
        }

        impl<T: Decode + 'static> Decode for $pointer<T> {
            fn decode(r: &mut Reader<'_>) -> Result<Self> {
                match r.peek()? {
                    tags::REFERENCE => {
                        r.byte()?;
                        let label = r.number()?;
                        recall(r, label).ok_or_else(|| r.mismatch("a reference to something of this type"))
                    }
                    tags::LABEL => {
                        r.byte()?;
                        let label = r.open_label()?;
                        r.charge(size_of::<T>() + 2 * size_of::<usize>())?;
                        let inner = $pointer::new(r.nested(|r| T::decode(r))?);
                        r.close_label(label, Labelled::Typed(Box::new($pointer::clone(&inner))));
                        Ok(inner)
                    }
                    _ => {
                        r.charge(size_of::<T>() + 2 * size_of::<usize>())?;
                        r.nested(|r| T::decode(r)).map($pointer::new)
                    }
                }
            }

            fn decode_column(r: &mut Reader<'_>, count: usize, out: &mut Vec<Self>) -> Result<()> {
                if r.peek()? == tags::column::ANY {
                    r.byte()?;
                    for _ in 0..count {
                        out.push(Self::decode(r)?);
                    }
                    return Ok(());
                }
                r.charge(count.saturating_mul(size_of::<T>() + 2 * size_of::<usize>()))?;
                let mut values = Vec::with_capacity(count);
                r.nested(|r| T::decode_column(r, count, &mut values))?;
                out.extend(values.into_iter().map($pointer::new));
                Ok(())
            }
        }
    )*};
}

shared! { Rc Arc }

/// Returns the labelled value, if it is of this type.
fn recall<P: Any + Clone>(r: &Reader<'_>, label: u64) -> Option<P> {
    match r.labelled.get(usize::try_from(label).ok()?)? {
        Labelled::Typed(held) => held.downcast_ref::<P>().cloned(),
        _ => None,
    }
}
