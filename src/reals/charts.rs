pub fn alternatives(_: &mut crate::Store, _: &mut crate::facts::Facts, _: crate::Id) -> Vec<crate::Equal> { Vec::new() }
