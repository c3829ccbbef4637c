"""Functions of floats on explicit vectors, as LLVM IR: the same instructions whatever the number of lanes."""
