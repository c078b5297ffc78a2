"""Terminal, pages, figures and tables: all that people see."""
