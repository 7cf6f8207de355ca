//! What code is made for: a triple, a CPU and its features, as LLVM names them.

use std::sync::Once;

use inkwell::OptimizationLevel;
use inkwell::targets::{
    ByteOrdering, CodeModel, InitializationConfig, RelocMode, Target as Llvm, TargetMachine, TargetTriple,
};
use ngc_ir::OpDef;

use crate::scaling::{ANYWHERE, AVX512, WIDTH};

/// A machine that code is made for.
pub struct Target {
    pub(crate) machine: TargetMachine,
    /// The triple.
    pub triple: String,
    /// The CPU; empty for the triple's own.
    pub cpu: String,
    /// Features, as `+avx2,-avx512f`.
    pub features: String,
}

impl Target {
    /// The machine that this program runs on.
    ///
    /// # Errors
    /// When LLVM does not know it.
    pub fn host() -> Result<Target, String> {
        let cpu = TargetMachine::get_host_cpu_name().to_string();
        let features = TargetMachine::get_host_cpu_features().to_string();
        Target::new(&host_triple(), &cpu, &features)
    }

    /// A machine by LLVM's names; an empty triple is that of the host.
    ///
    /// # Errors
    /// When LLVM does not know the triple, the CPU or a feature, or the machine is not one that ngc can serve.
    pub fn new(triple: &str, cpu: &str, features: &str) -> Result<Target, String> {
        initialize();
        let triple = if triple.is_empty() { host_triple() } else { triple.to_string() };
        let normal = TargetMachine::normalize_triple(&TargetTriple::create(&triple));
        let target = Llvm::from_triple(&normal).map_err(|_| {
            format!(
                "target '{triple}' is not known; ngc compiles for x86_64, aarch64 and riscv64, as in \
                 x86_64-unknown-linux-gnu"
            )
        })?;
        let machine = target.create_target_machine(
            &normal,
            cpu,
            features,
            OptimizationLevel::Default,
            RelocMode::PIC,
            CodeModel::Default,
        );
        let machine = machine.ok_or_else(|| format!("target '{triple}' makes no code"))?;
        let data = machine.get_target_data();
        if data.get_byte_ordering() != ByteOrdering::LittleEndian || data.get_pointer_byte_size(None) != 8 {
            return Err(format!("target '{triple}' is no little-endian machine of 64 bits"));
        }
        let triple = normal.as_str().to_string_lossy().into_owned();
        Ok(Target { machine, triple, cpu: cpu.to_string(), features: features.to_string() })
    }

    /// Bits of the vectors that the features speak of.
    pub fn vector_bits(&self) -> usize {
        let has = |feature: &str| self.features.split(',').any(|f| f == feature);
        let level = |name: &str| self.cpu.starts_with(name);
        let wide = has("+avx512f")
            || ["x86-64-v4", "skylake-avx512", "sapphirerapids", "icelake", "znver4", "znver5"]
                .map(level)
                .contains(&true);
        let half = wide || has("+avx") || ["x86-64-v3", "haswell", "znver"].map(level).contains(&true);
        match () {
            () if wide && !has("-avx512f") && !has("-avx") => 512,
            () if half && !has("-avx") => 256,
            () => 128,
        }
    }

    /// Ops of `num` that code is made of as they are; others make room for their steps.
    pub fn instructions(&self) -> &'static [&'static OpDef] {
        let whole = self.triple.starts_with("x86_64") && self.vector_bits() == WIDTH as usize;
        if whole { AVX512 } else { ANYWHERE }
    }
}

/// The triple of the machine that this program runs on.
pub fn host_triple() -> String {
    TargetMachine::get_default_triple().as_str().to_string_lossy().into_owned()
}

fn initialize() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let config = InitializationConfig::default();
        Llvm::initialize_x86(&config);
        Llvm::initialize_aarch64(&config);
        Llvm::initialize_riscv(&config);
    });
}
