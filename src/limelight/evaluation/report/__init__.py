"""The report of an evaluation: tables, verdict, page, figure and terminal."""
