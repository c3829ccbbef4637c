"""pypto: a tile compiler for Ascend NPUs."""
