"""What these tests have in common: the pass that they test, by itself."""

pipeline = "builtin.module(func.func(stabilize{search=reals}))"
config.substitutions.append(("%stabilize", f"ngc-opt '--pass-pipeline={pipeline}'"))
