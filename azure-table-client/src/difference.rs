//! What a program has changed in a struct since it was read: the one comparison behind `update_with`, `update_rows_with`
//! and the updates of a context.

use std::collections::BTreeMap;

use crate::edm::EdmValue;
use crate::entity::Ownership;
use crate::outcome::Properties;

/// The new value of each property that differs; `None` if it was removed.
pub(crate) type Difference = BTreeMap<String, Option<EdmValue>>;

/// Compares the properties that a struct writes now with those that it wrote when it was read. A property without a
/// difference keeps the form in which it is stored. A removed property is removed under its former names, too.
pub(crate) fn difference(
    before: &Properties,
    now: &Properties,
    ownership: Option<&Ownership>,
) -> Difference {
    let mut all = Difference::new();
    for name in before.keys().filter(|name| !now.contains_key(*name)) {
        let former = ownership.into_iter().flat_map(|it| it.former_names(name));
        all.extend(former.chain([&**name]).map(|name| (name.to_owned(), None)));
    }
    let changed = now.iter().filter(|(name, value)| before.get(*name) != Some(value));
    all.extend(changed.map(|(name, value)| (name.clone(), Some(value.clone()))));
    all
}

/// Puts differences on top of values.
pub(crate) fn apply(difference: &Difference, values: &mut Properties) {
    for (name, value) in difference {
        match value {
            Some(value) => values.insert(name.clone(), value.clone()),
            None => values.remove(name),
        };
    }
}
