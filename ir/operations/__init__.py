"""Operations are data: one record each, in `table.py`."""
