//! Guides: what there is to know beside the single items.
//!
//! | | |
//! |---|---|
//! | [`entities`] | entities and keys: types, order, limits, what is not there |

pub mod entities {
    #![doc = include_str!("../docs/guide/entities.md")]
}
