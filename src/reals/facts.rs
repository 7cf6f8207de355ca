use ngc_dialects::facts::Fact;
pub struct Facts { pub leaf: Box<dyn Fn(u32) -> Fact> }
impl Facts { pub fn new(leaf: Box<dyn Fn(u32) -> Fact>) -> Facts { Facts { leaf } } }
