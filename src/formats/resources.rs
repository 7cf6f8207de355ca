//! Large constants of a module: blobs beside its ops, or elements within them.

use std::sync::Arc;

use ngc_ir::{Attr, AttrDict, Blob, Body, Dense, Ident, Module, Resources};

/// Moves all blobs that the ops name into the ops themselves (`dense_resource<key>` becomes `dense<...>`); the data
/// are shared, not copied. A key without a blob stays what it is.
pub fn inline_resources(module: &mut Module) {
    let resources = std::mem::take(&mut module.resources);
    if let Some(attrs) = in_dict(&module.attrs, &resources) {
        module.attrs = attrs;
    }
    in_body(&mut module.body, &resources);
}

fn in_body(body: &mut Body, resources: &Resources) {
    for op in body.walk() {
        if let Some(attrs) = in_dict(&body.op(op).attrs, resources) {
            body.op_mut(op).attrs = attrs;
        }
        if let Some(properties) = in_dict(body.properties(op), resources) {
            body.set_properties(op, properties);
        }
        if let Some(inner) = body.body_mut(op) {
            in_body(inner, resources);
        }
    }
}

/// The attributes with the blobs in place, if they name any.
fn in_dict(attrs: &AttrDict, resources: &Resources) -> Option<AttrDict> {
    let mut changed = None;
    for (name, attr) in attrs.iter() {
        if let Some(inlined) = in_attr(attr, resources) {
            changed.get_or_insert_with(|| attrs.clone()).set(*name, inlined);
        }
    }
    changed
}

fn in_attr(attr: &Attr, resources: &Resources) -> Option<Attr> {
    match attr {
        Attr::Resource(key, ty) => {
            let bytes = resources.get(key.as_str())?.bytes.clone();
            Some(Attr::Dense(Arc::new(Dense { ty: *ty, bytes, splat: false })))
        }
        Attr::Array(items) => {
            let inlined: Vec<Option<Attr>> = items.iter().map(|item| in_attr(item, resources)).collect();
            let changed = inlined.iter().any(Option::is_some);
            let kept =
                || inlined.into_iter().zip(items.iter()).map(|(new, old)| new.unwrap_or_else(|| old.clone()));
            changed.then(|| Attr::Array(kept().collect()))
        }
        Attr::Dict(attrs) => in_dict(attrs, resources).map(Attr::Dict),
        _ => None,
    }
}

/// Moves constants of more than `most` elements that stand in ops of functions to blobs with keys of their own. Those whose
/// elements are all alike stay.
pub fn outline_resources(module: &mut Module, most: usize) {
    let mut n = 0;
    for function in module.functions() {
        let Some(body) = module.body.body_mut(function) else { continue };
        for op in body.walk() {
            let Some(Attr::Dense(d)) = body.attr(op, "value").filter(|_| body.name(op) == "ng.constant")
            else {
                continue;
            };
            let size = d.ty.elem().map_or(1, |elem| elem.storage_bytes());
            if d.splat || d.bytes.len() / size <= most {
                continue;
            }
            let mut key = format!("constant_{n}");
            while module.resources.contains_key(&key) {
                n += 1;
                key = format!("constant_{n}");
            }
            let (ty, bytes) = (d.ty, d.bytes.clone());
            Arc::make_mut(&mut module.resources).insert(key.clone(), Blob { alignment: 64, bytes });
            body.op_mut(op).attrs.set("value", Attr::Resource(Ident::new(&key), ty));
        }
    }
}
