"""The PTO intermediate representation: types, nodes, operations, text, analyses and passes."""
