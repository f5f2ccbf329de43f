"""Tables of several columns."""

from __future__ import annotations

from typing import Any


def column_names(table: Any) -> list[Any] | None:
    """The names of the columns of a table.

    Parameters
    ----------
    table : DataFrame, table of Arrow or anything else

    Returns
    -------
    list or None
        None if the columns have no names, as those of an array.

    Examples
    --------
    >>> import pandas
    >>> column_names(pandas.DataFrame({"age": [1], "city": ["Bath"]})), column_names(["a text"])
    (['age', 'city'], None)
    """
    names = getattr(table, "column_names", getattr(table, "columns", None))
    return None if names is None or callable(names) else list(names)


def name_of(column: Any) -> str | None:
    """The name of a Series, or of the only column of a table, if it is text.

    Examples
    --------
    >>> import pandas
    >>> name_of(pandas.Series([1], name="species")), name_of([1])
    ('species', None)
    """
    names = column_names(column) or [getattr(column, "name", None)]
    return names[0] if len(names) == 1 and isinstance(names[0], str) and names[0] else None
