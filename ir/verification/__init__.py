"""The rules of each level; `pypto.ir.verifier` is the front door."""
