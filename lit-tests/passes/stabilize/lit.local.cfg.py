"""What these tests have in common: the pass that they test, by itself, or with what tidies up around it."""

config.substitutions.append(("%stabilize", "ngc-opt '--pass-pipeline=builtin.module(func.func(stabilize))'"))
