"""Methods of tiles that arrays and tensors have as well; each is the function of the same name in `pypto`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypto.tracing.ordered import Ordered
    from pypto.tracing.tiles import Tile


class ArrayMethods:
    """What `Tile` inherits."""

    __slots__ = ()

    # -- statistics

    def sum(self: Any, axis: Any = None, keepdims: bool = False, **others: Any) -> Tile:
        """Sum over `axis` (None: all); integers sum in i64. As `pypto.sum`."""
        from pypto import language

        return language.sum(self, axis, keepdims, **others)

    def prod(self: Any, axis: Any = None, keepdims: bool = False, **others: Any) -> Tile:
        """Product over `axis` (None: all); integers in i64. As `pypto.prod`."""
        from pypto import language

        return language.prod(self, axis, keepdims, **others)

    def mean(self: Any, axis: Any = None, keepdims: bool = False, **others: Any) -> Tile:
        """Arithmetic mean over `axis` (None: all); f32 for integers. As `pypto.mean`."""
        from pypto import language

        return language.mean(self, axis, keepdims, **others)

    def var(self: Any, axis: Any = None, correction: float = 0, keepdims: bool = False, **others: Any) -> Tile:
        """Variance over `axis` (None: all). As `pypto.var`."""
        from pypto import language

        return language.var(self, axis, correction, keepdims, **others)

    def std(self: Any, axis: Any = None, correction: float = 0, keepdims: bool = False, **others: Any) -> Tile:
        """Standard deviation over `axis` (None: all). As `pypto.std`."""
        from pypto import language

        return language.std(self, axis, correction, keepdims, **others)

    def max(self: Any, axis: Any = None, keepdims: bool = False, **others: Any) -> Tile:
        """Largest element over `axis` (None: all); NaN wins. As `pypto.max`."""
        from pypto import language

        return language.max(self, axis, keepdims, **others)

    def min(self: Any, axis: Any = None, keepdims: bool = False, **others: Any) -> Tile:
        """Smallest element over `axis` (None: all); NaN wins. As `pypto.min`."""
        from pypto import language

        return language.min(self, axis, keepdims, **others)

    def any(self: Any, axis: Any = None, keepdims: bool = False, **others: Any) -> Tile:
        """Whether any element over `axis` (None: all) is not 0. As `pypto.any`."""
        from pypto import language

        return language.any(self, axis, keepdims, **others)

    def all(self: Any, axis: Any = None, keepdims: bool = False, **others: Any) -> Tile:
        """Whether all elements over `axis` (None: all) are not 0. As `pypto.all`."""
        from pypto import language

        return language.all(self, axis, keepdims, **others)

    def argmax(self: Any, axis: Any = None, keepdims: bool = False, **others: Any) -> Tile:
        """Where the largest element is. As `pypto.argmax`."""
        from pypto import language

        return language.argmax(self, axis, keepdims, **others)

    def argmin(self: Any, axis: Any = None, keepdims: bool = False, **others: Any) -> Tile:
        """Where the smallest element is. As `pypto.argmin`."""
        from pypto import language

        return language.argmin(self, axis, keepdims, **others)

    def logsumexp(self: Any, axis: Any = None, keepdims: bool = False, **others: Any) -> Tile:
        """Logarithm of the sum of exponentials. As `pypto.logsumexp`."""
        from pypto import language

        return language.logsumexp(self, axis, keepdims, **others)

    # -- order

    def cumsum(self: Any, axis: Any = None, **others: Any) -> Tile:
        """Running sums. As `pypto.cumsum`."""
        from pypto import language

        return language.cumsum(self, axis, **others)

    def cumprod(self: Any, axis: Any = None, **others: Any) -> Tile:
        """Running products. As `pypto.cumprod`."""
        from pypto import language

        return language.cumprod(self, axis, **others)

    def argsort(self: Any, axis: Any = -1, descending: bool = False, **others: Any) -> Tile:
        """Positions in the order of the elements. As `pypto.argsort`."""
        from pypto import language

        return language.argsort(self, axis, descending, **others)

    def topk(self: Any, k: int, axis: Any = -1, largest: bool = True, **others: Any) -> Ordered:
        """The k largest elements and their positions. As `pypto.topk`."""
        from pypto import language

        return language.topk(self, k, axis, largest, **others)

    # -- shape

    def reshape(self: Any, *shape: Any) -> Tile:
        """The same elements in another shape, one extent may be -1: a view where NumPy's is."""
        from pypto import language

        return language.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self: Any, *axes: Any) -> Tile:
        """A view with the axes in another order (default: reversed)."""
        from pypto import language

        return language.transpose(self, axes[0] if len(axes) == 1 else axes or None)

    def swapaxes(self: Any, axis1: int, axis2: int) -> Tile:
        """A view with two axes exchanged."""
        from pypto import language

        return language.swapaxes(self, axis1, axis2)

    def squeeze(self: Any, axis: Any = None, **others: Any) -> Tile:
        """A view without axes of extent 1. As `pypto.squeeze`."""
        from pypto import language

        return language.squeeze(self, axis, **others)

    def unsqueeze(self: Any, axis: Any = None, **others: Any) -> Tile:
        """A view with a new axis of extent 1. As `pypto.unsqueeze`."""
        from pypto import language

        return language.unsqueeze(self, axis, **others)

    def flatten(self: Any) -> Tile:
        """All elements in one axis: a new tile."""
        from pypto import language

        return language.reshape(self, -1).copy()

    def ravel(self: Any) -> Tile:
        """All elements in one axis: a view where NumPy's is."""
        from pypto import language

        return language.reshape(self, -1)

    def repeat(self: Any, repeats: int, axis: Any = None) -> Tile:
        """Each element `repeats` times, as numpy's method. As `pypto.repeat`."""
        from pypto import language

        return language.repeat(self, repeats, axis)

    # -- indexing

    def take(self: Any, indices: Any, axis: Any = None, **others: Any) -> Tile:
        """Elements by number, as numpy's method. As `pypto.take`."""
        from pypto import language

        return language.take(self, indices, axis, **others)

    def gather(self: Any, dim: int, index: Tile) -> Tile:
        """Elements along an axis by number, as torch's method. As `pypto.gather`."""
        from pypto import language

        return language.gather(self, dim, index)

    def index_select(self: Any, dim: int, index: Tile) -> Tile:
        """Slices along an axis by number, as torch's method. As `pypto.index_select`."""
        from pypto import language

        return language.index_select(self, dim, index)

    # -- products and dtypes

    def dot(self: Any, other: Any) -> Tile:
        """Matrix product by numpy.dot's rule, for two tiles of at most two axes."""
        from pypto.tracing.contractions import dotted

        return dotted(self, other)

    def astype(self: Any, dtype: object, rounding: str | None = None) -> Tile:
        """The tile in another dtype. As `pypto.cast`."""
        from pypto.tracing.shaping import cast_named

        return cast_named(self, dtype, rounding)

    def to(self: Any, dtype: object) -> Tile:
        """The tile in another dtype (torch's name). As `pypto.cast`."""
        from pypto.tracing.shaping import cast_named

        return cast_named(self, dtype)
