"""What these tests have in common: the pass that they test, and what tidies up after it."""

pipeline = "builtin.module(assign-precision,func.func(canonicalize,cse))"
config.substitutions.append(("%hold", f"ngc-opt '--pass-pipeline={pipeline}'"))
