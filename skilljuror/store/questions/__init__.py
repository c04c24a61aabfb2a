"""Named questions: one .sql file each.

The comments at the head of a file are its documentation and its contract:

    -- question: what a person wants to know
    -- section: RQ1 … RQ4, overview or lists
    -- grain: one row is …
    -- columns: names of the result's columns, in order
    -- params: name=default, …            (optional)
    -- read: how to read the numbers      (optional)
    -- column NAME: what it is            (optional, one line per column)

Adding a question is adding a file; nothing else names it.
"""
