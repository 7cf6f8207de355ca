"""What these tests have in common: the pass that they test, by itself, or with what tidies up around it. Each rewrite is
proven, so that the names in proofs are held against the catalogue."""

pipeline = "--pass-pipeline=builtin.module(func.func(stabilize))"
config.substitutions.append(("%stabilize", f"ngc-opt '{pipeline}' --emit-proof=%t.proof"))
