"""What these tests have in common: the pass that they test, and what tidies up after it."""

pipeline = "builtin.module(func.func(widen,canonicalize,cse))"
config.substitutions.append(("%widen", f"ngc-opt '--pass-pipeline={pipeline}'"))
