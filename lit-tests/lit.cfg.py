"""Configuration of the golden tests: run with `tools/test --lit`, or `lit lit-tests` after `cargo build`."""

import os
import subprocess
import sys

import lit.formats

config.name = "ngc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ngir", ".test", ".mlir"]
config.excludes = ["Inputs", "Output"]
config.test_source_root = os.path.dirname(__file__)

root = os.path.dirname(config.test_source_root)
profile = os.environ.get("NGC_PROFILE", "debug")
bin_dir = os.path.join(root, "target", profile)
config.test_exec_root = os.path.join(root, "target", "lit")

# LLVM's FileCheck, not and count live in a versioned folder on Debian and Ubuntu.
llvm_bin = os.environ.get("NGC_LLVM_BIN", "/usr/lib/llvm-22/bin")
config.environment["PATH"] = os.pathsep.join([bin_dir, llvm_bin, os.environ.get("PATH", "")])
config.environment["NO_COLOR"] = "1"
for tool in ["again", "part"]:
    config.substitutions.append((f"%{tool}", os.path.join(config.test_source_root, tool)))
# Golden functions and second runs are sampled where their certificate is fresh, or all are tested for it.
fresh = [os.path.join(root, "tools", "certify"), "--fresh", "golden-tests"]
if "NGC_CERTIFY" not in os.environ and subprocess.run(fresh, check=False).returncode == 0:
    config.environment["NGC_GOLDEN"] = "sample"
config.environment["PROPTEST_RNG_SEED"] = os.environ.get("PROPTEST_RNG_SEED", "")
config.substitutions.append(("%testdata", os.path.join(root, "testdata")))
config.substitutions.append(("%root", root))
config.substitutions.append(("%python", sys.executable))

if os.path.exists(os.path.join(llvm_bin, "mlir-opt")):
    config.available_features.add("mlir-opt")
